import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { askWhileLocked, type Run } from '../../../../test/support/ask-while-locked.js';
import {
  type Answer,
  type Json,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../test/support/test-api.js';
import { countBlocked } from '../../../../test/support/until-blocked.js';
import { untilFannedOut } from '../../../../test/support/until-fanned-out.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

let api: TestApi;
let ada: Person;
let cleo: Person;
let made = 0;
let place: string;
let comment: Json;
/** For the statements of a transaction that holds others up: the repository and its thread. */
let ids: { repository: string; thread: string };

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
  cleo = await api.addPerson('cleo');
  await api.addPerson('eve');
});
afterAll(() => api.stop());

beforeEach(() => start(true));

async function start(hidden: boolean): Promise<void> {
  made += 1;
  place = `/repos/ada/place-${made}`;
  await ada.ask('POST', '/user/repos', { name: `place-${made}`, private: hidden });
  await ada.ask('PUT', `${place}/collaborators/cleo`, { permission: 'push' });
  await ada.ask('POST', `${place}/threads`, { title: 'News', body: 'Old' });
  comment = (await ada.ask('POST', `${place}/threads/1/comments`, { body: 'Old' })).body;
  const { rows } = await api.pool.query<typeof ids>(
    'SELECT r.id AS repository, t.id AS thread FROM repository r JOIN thread t ON t.repository_id = r.id WHERE r.name = $1',
    [`place-${made}`],
  );
  ids = rows[0] as typeof ids;
  // What is counted afterwards are the requests alone.
  await untilFannedOut(api.pool);
}

/** The ways in which a transaction holds up others until it commits. */
const HOLDS = {
  access: () => `SELECT FROM repository WHERE id = ${ids.repository} FOR NO KEY UPDATE`,
  comments: () => `SELECT FROM comment_counter WHERE thread_id = ${ids.thread} FOR NO KEY UPDATE`,
  threads: () =>
    `SELECT FROM thread_counter WHERE repository_id = ${ids.repository} FOR NO KEY UPDATE`,
  commentTable: () => 'LOCK TABLE comment IN ACCESS EXCLUSIVE MODE',
  threadTable: () => 'LOCK TABLE thread IN ACCESS EXCLUSIVE MODE',
  watchTable: () => 'LOCK TABLE watch IN ACCESS EXCLUSIVE MODE',
};

const askDuring = <T>(
  hold: keyof typeof HOLDS,
  ask: () => Promise<T>,
  meanwhile: (run: Run) => Promise<unknown>,
) => askWhileLocked(api.pool, HOLDS[hold](), ask, meanwhile);

const removeCleo = () => `DELETE FROM member WHERE repository_id = ${ids.repository}`;
const makeCleoReader = () =>
  `UPDATE member SET permission = 'read' WHERE repository_id = ${ids.repository}`;

/** What people wrote. */
async function written(): Promise<unknown> {
  const { rows } = await api.pool.query(
    `SELECT t.title, t.body, t.state, (SELECT json_agg(c.body) FROM comment c WHERE c.thread_id = t.id) AS comments
     FROM thread t WHERE t.repository_id = $1`,
    [ids.repository],
  );
  return rows;
}

describe('who lost access while the request waited', () => {
  const comments = () => `${place}/threads/comments/${comment.id}`;
  test.each([
    ['deletes no comment', 'DELETE', comments, undefined],
    ['edits no comment', 'PATCH', comments, { body: 'New' }],
    ['edits no title', 'PATCH', () => `${place}/threads/1`, { title: 'New' }],
    ['edits no text', 'PATCH', () => `${place}/threads/1`, { body: 'New, @eve' }],
    ['closes no thread', 'PATCH', () => `${place}/threads/1`, { state: 'closed' }],
  ])('%s of somebody else', async (_name, method, path, body) => {
    const before = await written();
    const ask = () => cleo.ask(method, path(), body);
    expect((await askDuring('access', ask, (run) => run(makeCleoReader()))).status).toBe(403);
    await ada.ask('PUT', `${place}/collaborators/cleo`, { permission: 'push' });
    expect((await askDuring('access', ask, (run) => run(removeCleo()))).status).toBe(404);
    expect(await written()).toEqual(before);
  });

  test('deletes and edits nothing of their own either', async () => {
    const own = (await cleo.ask('POST', `${place}/threads/1/comments`, { body: 'Mine' })).body;
    const path = `${place}/threads/comments/${own.id}`;
    const before = await written();
    for (const [method, body] of [
      ['PATCH', { body: 'New' }],
      ['DELETE', undefined],
    ] as const) {
      await ada.ask('PUT', `${place}/collaborators/cleo`, { permission: 'push' });
      const ask = () => cleo.ask(method, path, body);
      expect((await askDuring('access', ask, (run) => run(removeCleo()))).status).toBe(404);
    }
    expect(await written()).toEqual(before);
  });

  test.each([
    ['comments', 'comments', () => `${place}/threads/1/comments`, { body: 'Late' }],
    ['opens a thread', 'threads', () => `${place}/threads`, { title: 'Late' }],
  ] as const)('neither %s', async (_name, hold, path, body) => {
    const before = await written();
    const answer = await askDuring(
      hold,
      () => cleo.ask('POST', path(), body),
      () => ada.ask('DELETE', `${place}/collaborators/cleo`),
    );
    expect(answer.status).toBe(404);
    expect(await written()).toEqual(before);
  });

  const later = () =>
    `INSERT INTO comment (thread_id, number, author_id, body) VALUES (${ids.thread}, 2, ${ada.id}, 'Secret')`;
  const laterThread = () =>
    `INSERT INTO thread (repository_id, number, author_id, title, body) VALUES (${ids.repository}, 2, ${ada.id}, 'Secret', '')`;
  const laterWatch = () =>
    `UPDATE watch SET ignored = false WHERE repository_id = ${ids.repository}`;
  test.each([
    ['comments', 'commentTable', () => `${place}/threads/1/comments`, later],
    ['threads', 'threadTable', () => `${place}/threads`, laterThread],
    ['watchers', 'watchTable', () => `${place}/subscribers`, laterWatch],
  ] as const)('is told of no later %s', async (_name, hold, path, write) => {
    const answer: Answer = await askDuring(
      hold,
      () => cleo.ask('GET', path()),
      async (run) => {
        await run(removeCleo());
        await run(write());
      },
    );
    expect(answer).toMatchObject({ status: 200, body: [] });
  });
});

test.each([
  ['comments', 'DELETE', () => `${place}/threads/comments/${comment.id}`, undefined],
  ['comments', 'PATCH', () => `${place}/threads/comments/${comment.id}`, { body: 'New' }],
  ['threads', 'PATCH', () => `${place}/threads/1`, { title: 'New' }],
])(
  'a token that ends while its request waits changes no %s (%s)',
  async (_what, method, path, body) => {
    const scopes = ['repo'];
    const token = (await cleo.ask('POST', '/user/tokens', { label: 'one', scopes })).body;
    const before = await written();
    const ask = async () => {
      const answer = await fetch(`${api.url}/api${path()}`, {
        method,
        headers: { authorization: `Bearer ${token.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body ?? {}),
      });
      return answer.status;
    };
    const ends = () => cleo.ask('DELETE', `/user/tokens/${token.id}`);
    expect(await askDuring('access', ask, ends)).toBe(401);
    expect(await written()).toEqual(before);
  },
);

describe('a repository that is deleted', () => {
  test.each([
    ['an edit of a comment', () => `${place}/threads/comments/${comment.id}`],
    ['an edit of a thread', () => `${place}/threads/1`],
  ])('and %s that mentions somebody wait for each other in one order', async (_name, path) => {
    const answers = await askDuring(
      'comments',
      async () => {
        const deleting = ada.ask('DELETE', place);
        await waitUntil(async () => (await countBlocked(api.pool)) === 1, {
          what: 'the deletion to wait',
        });
        const editing = cleo.ask('PATCH', path(), { body: 'Hello @eve' });
        return [(await deleting).status, (await editing).status];
      },
      () => waitUntil(async () => (await countBlocked(api.pool)) === 2, { what: 'both to wait' }),
    );
    expect(answers).toEqual([204, 404]);
  });
});

describe('an event tells what was true when its turn came', () => {
  const snapshots = async (type: string): Promise<Json> => {
    const { thread, repository } = (await api.eventsOf(type)).at(-1);
    return { state: thread.state, title: thread.title, private: repository.private };
  };

  test('of a comment', async () => {
    await start(false);
    const ask = () => ada.ask('POST', `${place}/threads/1/comments`, { body: 'Late' });
    const answer = await askDuring('comments', ask, async () => {
      await cleo.ask('PATCH', `${place}/threads/1`, { state: 'closed', title: 'Old news' });
      await ada.ask('PATCH', place, { private: true });
    });
    expect(answer.status).toBe(201);
    const now = { state: 'closed', title: 'Old news', private: true };
    expect(await snapshots('comment.created')).toEqual(now);
    const { thread } = (await api.eventsOf('comment.created')).at(-1);
    const { body } = await ada.ask('GET', `${place}/threads/1`);
    expect(thread).toMatchObject({ updated_at: body.updated_at, closed_at: body.closed_at });
  });

  test('of a thread', async () => {
    await start(false);
    const ask = () => ada.ask('POST', `${place}/threads`, { title: 'More news' });
    await askDuring('threads', ask, () => ada.ask('PATCH', place, { private: true }));
    expect(await snapshots('thread.opened')).toMatchObject({ title: 'More news', private: true });
  });

  test('of an edit', async () => {
    await start(false);
    const hide = (run: Run) =>
      run(`UPDATE repository SET private = true WHERE id = ${ids.repository}`);
    const edit = () => ada.ask('PATCH', `${place}/threads/comments/${comment.id}`, { body: 'New' });
    await askDuring('access', edit, hide);
    expect(await snapshots('comment.edited')).toMatchObject({ private: true });
    await ada.ask('PATCH', place, { private: false });
    const close = () => ada.ask('PATCH', `${place}/threads/1`, { state: 'closed' });
    await askDuring('access', close, hide);
    expect(await snapshots('thread.closed')).toMatchObject({ private: true });
  });
});
