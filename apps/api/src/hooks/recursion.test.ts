import { HEADER } from '@ghost/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import {
  type Answer,
  type Json,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../test/support/test-api.js';
import { untilFannedOut } from '../../../../test/support/until-fanned-out.js';

const ENGINE = '/repos/ada/engine';
const OTHER = '/repos/ada/other';
const config = { url: 'https://receiver.example/hook' };

let api: TestApi;
let ada: Person;
/** Two hooks of the repository, new for each test. */
let first: number;
let second: number;

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
  await api.addPerson('bob');
  for (const name of ['engine', 'other']) {
    await ada.ask('POST', '/user/repos', { name });
    await ada.ask('POST', `/repos/ada/${name}/threads`, { title: 'A thread' });
  }
});
afterAll(() => api.stop());

beforeEach(async () => {
  [first, second] = [await addHook(ENGINE), await addHook(ENGINE)];
  await untilFannedOut(api.pool);
  return async () => {
    for (const id of [first, second]) await ada.ask('DELETE', `${ENGINE}/hooks/${id}`);
  };
});

async function addHook(repository: string): Promise<number> {
  return (await ada.ask('POST', `${repository}/hooks`, { config })).body.id;
}

/** Comments, in answer to a delivery when its chain is given. */
function comment(chain?: string, repository = ENGINE): Promise<Answer> {
  const headers = chain === undefined ? {} : { [HEADER.chain]: chain };
  return ada.ask('POST', `${repository}/threads/1/comments`, { body: 'Hello' }, headers);
}

/** What the newest delivery to a hook sends as its chain. */
async function chainTo(hookId: number): Promise<string> {
  await untilFannedOut(api.pool);
  const { rows } = await api.pool.query<{ chain: string }>(
    `SELECT own ->> 'chain' AS chain FROM delivery_job WHERE hook_id = $1 ORDER BY created_at DESC LIMIT 1`,
    [hookId],
  );
  return rows[0]?.chain ?? '';
}

async function skippedOf(hookId: number): Promise<Json[]> {
  await untilFannedOut(api.pool);
  return (await ada.ask('GET', `${ENGINE}/hooks/${hookId}/skipped`)).body;
}
async function waitingOf(hookId: number): Promise<string[]> {
  await untilFannedOut(api.pool);
  const { body } = await ada.ask('GET', `${ENGINE}/hooks/${hookId}/waiting`);
  return body.map(({ event }: Json) => event);
}
async function newestChain(): Promise<string[] | undefined> {
  const { rows } = await api.pool.query<{ hook_chain: string[] }>(
    'SELECT hook_chain FROM outbox_event ORDER BY created_at DESC, id DESC LIMIT 1',
  );
  return rows[0]?.hook_chain;
}

describe('what an endpoint does in answer to a delivery', () => {
  test('is sent to other hooks, and not to its own again; that is told', async () => {
    await comment(await chainTo(first));
    expect(await waitingOf(first)).toEqual(['ping']);
    expect(await waitingOf(second)).toEqual(['ping', 'comment.created']);
    expect(await skippedOf(first)).toMatchObject([
      {
        event: 'comment.created',
        reason: 'recursion',
        message: expect.stringContaining('might never end'),
      },
    ]);
    // What the second does in answer to that comes to neither.
    await comment(await chainTo(second));
    expect(await waitingOf(first)).toEqual(['ping']);
    expect(await waitingOf(second)).toEqual(['ping', 'comment.created']);
    expect(await newestChain()).toEqual([String(first), String(second)]);
  });

  test('is remembered of whatever it does in that repository', async () => {
    const headers = { [HEADER.chain]: await chainTo(first) };
    const bob = `${ENGINE}/collaborators/bob`;
    const { body: opened } = await ada.ask('POST', `${ENGINE}/threads`, { title: 'T' }, headers);
    const thread = `${ENGINE}/threads/${opened.number}`;
    const { body: made } = await ada.ask('POST', `${thread}/comments`, { body: 'C' }, headers);
    const one = `${ENGINE}/threads/comments/${made.id}`;
    for (const [method, path, body] of [
      ['PATCH', one, { body: 'D' }],
      ['DELETE', one],
      ['PATCH', thread, { state: 'closed' }],
      ['PATCH', thread, { state: 'open' }],
      ['PUT', bob, { permission: 'pull' }],
      ['DELETE', bob],
      ['POST', `${ENGINE}/hooks/${first}/pings`],
    ] as const) {
      const answer = await ada.ask(method, path, body, headers);
      expect(answer.status).toBeLessThan(300);
    }
    const { rows } = await api.pool.query<{ types: string[] }>(
      'SELECT array_agg(type ORDER BY type) AS types FROM outbox_event WHERE hook_chain = $1',
      [[first]],
    );
    expect(rows[0]?.types).toEqual([
      'comment.created',
      'comment.deleted',
      'comment.edited',
      'member.added',
      'member.removed',
      'ping',
      'thread.closed',
      'thread.opened',
      'thread.reopened',
    ]);
    expect(await waitingOf(first)).toEqual(['ping']);
  });
});

describe('a chain', () => {
  test('of another repository says nothing here', async () => {
    const elsewhere = await addHook(OTHER);
    await comment(await chainTo(elsewhere));
    expect(await newestChain()).toEqual([]);
    await comment(await chainTo(first), OTHER);
    expect(await newestChain()).toEqual([]);
    expect(await waitingOf(first)).toEqual(['ping', 'comment.created']);
  });

  test('that nobody signed, or that was changed, is ignored: the write goes on', async () => {
    const chain = await chainTo(first);
    const forged = [
      String(first),
      JSON.stringify([first]),
      `${chain.slice(0, -1)}${chain.endsWith('A') ? 'B' : 'A'}`,
      `${chain}, ${chain}`,
      'x'.repeat(8000),
    ];
    for (const other of forged) {
      expect((await comment(other)).status).toBe(201);
      expect(await newestChain()).toEqual([]);
    }
    expect(await skippedOf(first)).toEqual([]);
  });

  test('is no way in: without a token there is no write', async () => {
    const headers = { [HEADER.chain]: await chainTo(first), authorization: '' };
    const path = `${ENGINE}/threads/1/comments`;
    const answer = await ada.ask('POST', path, { body: 'x' }, headers);
    expect(answer.status).toBe(401);
  });
});
