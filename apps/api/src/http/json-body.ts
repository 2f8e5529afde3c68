import { isUtf8 } from 'node:buffer';

import type { FastifyInstance } from 'fastify';

import { type ApiError, badRequest, notJson, unsupportedMediaType } from './api-error.js';
import { isDeeperThan } from './json-depth.js';

/** Room for a comment of 65,536 characters of four bytes, each escaped in JSON (`\ud83d\ude00`), and its envelope. */
export const MAX_BODY_BYTES = 1_048_576;

/** No body of any route is deeper than 3. */
const MAX_DEPTH = 100;

const JSON_TYPES = /^application\/(?:[\w.-]+\+)?json(?:\s*;|$)/iu;
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/iu;
const UTF_8: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii']);

/**
 * Bodies are JSON in UTF-8, also as `application/vnd.github+json`; anything else is a 415, before any of
 * it is read. No body at all is none, whatever its type says.
 */
export function acceptJsonOnly(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addHook('preParsing', (request, _reply, payload, done) => {
    const fault = takesBody(request) ? encodingFault(request.headers) : null;
    if (fault === null) done(null, payload);
    else done(fault);
  });
  const parse = server.getDefaultJsonParser('error', 'error');
  server.addContentTypeParser(
    JSON_TYPES,
    { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES },
    (request, body: Buffer, done) => {
      if (body.length === 0) {
        done(null, undefined);
        return;
      }
      if (!isUtf8(body)) {
        done(badRequest('bad_encoding', 'The body is not valid UTF-8.'));
        return;
      }
      if (isDeeperThan(body, MAX_DEPTH)) {
        done(badRequest('too_deep', `Lists and objects are nested deeper than ${MAX_DEPTH}.`));
        return;
      }
      void parse(request, body.toString('utf8'), (error, parsed) => {
        if (error) done(badRequest('bad_json', 'The body is not one valid JSON value.'));
        else done(null, parsed);
      });
    },
  );
  // Octokit sends a PUT without parameters as an empty text.
  server.addContentTypeParser('*', (request, _payload, done) => {
    if (request.headers['content-length'] === '0') done(null, undefined);
    else done(notJson());
  });
}

/** GET and HEAD are answered whatever body comes with them: it is not read. */
export function takesBody({ method }: { method: string }): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

/** What the headers say of a body that nobody here can read; null: nothing. */
function encodingFault(headers: {
  'content-type'?: string | undefined;
  'content-encoding'?: string | undefined;
}): ApiError | null {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding !== '' && encoding !== 'identity') {
    return unsupportedMediaType('Send the body as it is, without a content-encoding.');
  }
  const charset = CHARSET.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase();
  if (charset !== undefined && !UTF_8.has(charset)) {
    return unsupportedMediaType('Send the body in UTF-8, the only charset that is read here.');
  }
  return null;
}
