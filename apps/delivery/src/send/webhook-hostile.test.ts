import { readFileSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import {
  type ClientSockets,
  watchClientSockets,
} from '../../../../test/support/hostile/client-sockets.js';
import { faultsOf } from '../../../../test/support/hostile/faults-of-played.js';
import type { HostileCase } from '../../../../test/support/hostile/answers/hostile-case.js';
import { HOSTILE_CASES } from '../../../../test/support/hostile/answers/hostile-cases.js';
import { playAll } from '../../../../test/support/hostile/play-all.js';
import type { Played } from '../../../../test/support/hostile/play-case.js';

const TIMES = {
  shortDeadlineMs: 600,
  // Far away, so that a busy machine is not taken for a fault.
  longDeadlineMs: 5_000,
  dripMs: 40,
};
/** 250 is promised, and proved by `npm run prove -- hostile`; here other tests want the processor too. */
const SLACK_MS = 1_000;

let sockets: ClientSockets;
let results: Map<HostileCase, Played>;

beforeAll(async () => {
  sockets = watchClientSockets();
  results = await playAll(HOSTILE_CASES, sockets, TIMES);
});
afterAll(() => sockets.stop());

describe('an attempt ends in time, once, judged right, and leaves nothing open, with a server that answers', () => {
  test.each(HOSTILE_CASES)('$what', (one) => {
    const played = results.get(one);
    if (!played) throw new Error('It was not played.');
    expect(faultsOf(one, played, SLACK_MS)).toEqual([]);
  });
});

test('each vector of the fixture is played', () => {
  const fixture = new URL('../../../../test/fixtures/response-vectors.json', import.meta.url);
  const vectors: { id: string }[] = JSON.parse(readFileSync(fixture, 'utf8'));
  const ids = HOSTILE_CASES.flatMap(({ vector }) => vector ?? []);
  expect(ids.toSorted()).toEqual(vectors.map(({ id }) => id).toSorted());
});
