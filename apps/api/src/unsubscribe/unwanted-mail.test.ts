import { randomBytes } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { keyRingOf } from '../../../../test/support/key-ring-of.js';
import { type Person, startTestApi, type TestApi } from '../../../../test/support/test-api.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { UnsubscribeTokens } from './unsubscribe-tokens.js';

const KEYS = `test:${randomBytes(32).toString('base64')}`;
const PLACE = '/repos/ann/place';

let api: TestApi;
let ann: Person;
let people = 0;

beforeAll(async () => {
  api = await startTestApi({ env: { GHOST_SECRET_KEYS: KEYS } });
  ann = await api.addPerson('ann');
  for (const name of ['place', 'other']) {
    await ann.ask('POST', '/user/repos', { name, private: false });
    for (const title of ['One', 'Two']) {
      await ann.ask('POST', `/repos/ann/${name}/threads`, { title });
    }
  }
});
afterAll(() => api.stop());

/** Two who watch both repositories, with a mail of each thread that waits; the first one's choice, and what then waits. */
async function waiting() {
  people += 2;
  const [ben, cleo] = [await api.addPerson(`ben-${people}`), await api.addPerson(`cleo-${people}`)];
  for (const person of [ben, cleo]) {
    for (const name of ['place', 'other']) {
      await person.ask('PUT', `/repos/ann/${name}/subscription`, { subscribed: true });
    }
  }
  for (const name of ['place', 'other']) {
    for (const number of [1, 2]) {
      const path = `/repos/ann/${name}/threads/${number}/comments`;
      expect((await ann.ask('POST', path, { body: 'Hello.' })).status).toBe(201);
    }
  }
  const left = async (person: Person) => {
    const { rows } = await api.pool.query<{ mail: string; why: string }>(
      `SELECT (e.payload #>> '{repository,name}') || (e.payload #>> '{thread,number}') AS mail,
         CASE j.status WHEN 'pending' THEN 'waits' ELSE j.last_error END AS why
       FROM delivery_job j JOIN outbox_event e ON e.id = j.event_id WHERE j.account_id = $1`,
      [person.id],
    );
    return Object.fromEntries(rows.map(({ mail, why }) => [mail, why]));
  };
  const all = { other1: 'waits', other2: 'waits', place1: 'waits', place2: 'waits' };
  await waitUntil(async () => Object.keys(await left(cleo)).length === 4, { what: 'the mails' });
  expect(await left(ben)).toEqual(all);
  const { body: thread } = await ben.ask('GET', `${PLACE}/threads/1`);
  const token = new UnsubscribeTokens({ keyRing: keyRingOf(KEYS) }).sign({
    threadId: thread.id,
    accountId: ben.id,
  });
  const click = async (path: string) => {
    const url = `${api.url}/api/unsubscribe/${path}`;
    expect((await fetch(url, { method: 'POST' })).status).toBe(200);
  };
  const expectLeft = async (ended: Record<string, string>) => {
    expect(await left(ben)).toEqual({ ...all, ...ended });
    expect(await left(cleo)).toEqual(all);
  };
  return { ben, token, click, expectLeft };
}

describe('who wants no more mail gets none that waits', () => {
  test('of a thread, by the link of a mail, once and again; also what a worker has in its hands', async () => {
    const { ben, token, click, expectLeft } = await waiting();
    await api.pool.query(
      `UPDATE delivery_job SET lease_no = 1, lease_until = now() + interval '1 minute' WHERE account_id = $1`,
      [ben.id],
    );
    for (let n = 0; n < 2; n += 1) await click(token);
    await expectLeft({ place1: 'muted' });
  });

  test('of a repository, by the page behind that link', async () => {
    const { token, click, expectLeft } = await waiting();
    await click(`${token}/repository`);
    await expectLeft({ place1: 'ignored', place2: 'ignored' });
  });

  test('of a thread that they mute, and not of one that they follow', async () => {
    const { ben, expectLeft } = await waiting();
    await ben.ask('PUT', `${PLACE}/threads/2/subscription`, { subscribed: true });
    await expectLeft({});
    await ben.ask('PUT', `${PLACE}/threads/2/subscription`, { ignored: true });
    await expectLeft({ place2: 'muted' });
  });

  test('of a repository that they ignore', async () => {
    const { ben, expectLeft } = await waiting();
    await ben.ask('PUT', `${PLACE}/subscription`, { ignored: true });
    await expectLeft({ place1: 'ignored', place2: 'ignored' });
  });
});
