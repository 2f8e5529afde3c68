import { badBodies } from './bad-bodies.js';
import { badFields } from './bad-fields.js';
import { badHeaders } from './bad-headers.js';
import { badMethods, badPaths } from './bad-paths.js';
import { badQueries } from './bad-queries.js';
import type { BadRequest } from './bad-request.js';
import type { FuzzOperation, FuzzWorld } from './fuzz-world.js';

/** Every kind of bad input for one operation. */
export function badRequests(world: FuzzWorld, at: FuzzOperation): BadRequest[] {
  // A raw message is judged by its signature before anything else of the request is.
  if (at.operation.requestBody?.content?.['message/rfc822']) {
    return [...badPaths(world, at), ...badMethods(world, at)];
  }
  return [
    ...badPaths(world, at),
    ...badMethods(world, at),
    ...badQueries(world, at),
    ...badBodies(world, at),
    ...badFields(world, at),
    ...badHeaders(world, at),
  ];
}
