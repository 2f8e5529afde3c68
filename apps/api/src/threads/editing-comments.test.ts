import { createPostgresQueue, type Queue, sqlOfPool } from '@ghost/queue';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { proveLanes } from '../../../../test/support/prove-lanes.js';
import { nextPage } from '../../../../test/support/next-page.js';
import { type Person, startTestApi, type TestApi } from '../../../../test/support/test-api.js';
import { untilBlocked } from '../../../../test/support/until-blocked.js';
import { untilFannedOut } from '../../../../test/support/until-fanned-out.js';

const REPOSITORY = '/repos/ada/engine';
const THREAD = `${REPOSITORY}/threads/1`;

let api: TestApi;
let ada: Person;
let bob: Person;
let cleo: Person;
let queue: Queue;

beforeAll(async () => {
  api = await startTestApi({ env: { GHOST_ALLOW_CIDRS: '127.0.0.0/8' } });
  queue = createPostgresQueue({ pool: api.pool });
  ada = await api.addPerson('ada');
  bob = await api.addPerson('bob');
  cleo = await api.addPerson('cleo');
  await ada.ask('POST', '/user/repos', { name: 'engine', private: false });
  await ada.ask('POST', '/user/repos', { name: 'other', private: false });
  await ada.ask('POST', `${REPOSITORY}/threads`, { title: 'First' });
  await cleo.ask('PUT', `${REPOSITORY}/subscription`);
  const hook = { config: { url: 'http://127.0.0.1:9/hook' } };
  expect((await ada.ask('POST', `${REPOSITORY}/hooks`, hook)).status).toBe(201);
});
afterAll(() => api.stop());

/** A comment by bob, and the path of it alone. */
async function comment(body = 'Hello'): Promise<{ id: number; path: string }> {
  const made = await bob.ask('POST', `${THREAD}/comments`, { body });
  expect(made.status).toBe(201);
  return { id: made.body.id, path: `${REPOSITORY}/threads/comments/${made.body.id}` };
}

async function eventsOf(type: string, commentId: number) {
  return (await api.eventsOf(type)).filter((event) => event.comment.id === commentId);
}

/** The jobs of a comment's events, once their fan-out has ended. */
async function jobsOf(commentId: number) {
  await untilFannedOut(api.pool);
  const { rows } = await api.pool.query<{
    id: string;
    type: string;
    kind: string;
    status: string;
    reason: string | null;
  }>(
    `SELECT j.id, e.type, j.kind, j.status, j.last_error AS reason
     FROM delivery_job j JOIN outbox_event e ON e.id = j.event_id
     WHERE e.comment_id = $1 ORDER BY e.type, j.kind, j.id`,
    [commentId],
  );
  return rows;
}

describe('a comment', () => {
  test('has a number in its thread, and is answered alone as in the list', async () => {
    const { id, path } = await comment();
    const { body } = await cleo.ask('GET', path);
    expect(body).toEqual({
      id,
      node_id: expect.any(String),
      number: expect.any(Number),
      body: 'Hello',
      user: expect.objectContaining({ login: 'bob' }),
      url: `https://ghost.example/api${path}`,
      thread_url: `https://ghost.example/api${THREAD}`,
      html_url: `https://ghost.example/ada/engine/threads/1#comment-${id}`,
      created_at: expect.any(String),
      updated_at: body.created_at,
    });
    const listed = (await ada.ask('GET', `${THREAD}/comments?per_page=100`)).body;
    expect(listed.at(-1)).toEqual(body);
    expect(listed.map((each: { number: number }) => each.number)).toEqual(
      listed.map((_: unknown, n: number) => n + 1),
    );
    expect(await eventsOf('comment.created', id)).toMatchObject([
      { comment: { number: body.number } },
    ]);
  });

  test('is no comment of another repository, whoever asks', async () => {
    const { id } = await comment();
    const elsewhere = `/repos/ada/other/threads/comments/${id}`;
    for (const [method, wanted] of [['GET'], ['PATCH', { body: 'x' }], ['DELETE']] as const) {
      expect(await ada.ask(method, elsewhere, wanted)).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      });
    }
    for (const bad of ['0', 'x', '99999999', '1e3', '%00']) {
      expect((await ada.ask('GET', `${REPOSITORY}/threads/comments/${bad}`)).status).toBe(404);
    }
  });

  test('pages follow each other by number', async () => {
    while ((await ada.ask('GET', `${THREAD}/comments?per_page=5`)).body.length < 5) await comment();
    const all = (await ada.ask('GET', `${THREAD}/comments?per_page=100`)).body;
    const first = await ada.ask('GET', `${THREAD}/comments?per_page=2`);
    const second = await ada.ask('GET', String(nextPage(first)));
    expect([...first.body, ...second.body]).toEqual(all.slice(0, 4));
    expect((await ada.ask('GET', `${THREAD}/comments?per_page=0`)).status).toBe(422);
    expect((await ada.ask('GET', `${THREAD}/comments?page=2`)).status).toBe(422);
    const last = await ada.ask('GET', `${THREAD}/comments?per_page=100`);
    expect(last.headers.get('link')).toBeNull();
  });
});

describe('editing', () => {
  test('changes the text and is an event with the new one', async () => {
    const { id, path } = await comment();
    const before = (await bob.ask('GET', path)).body;
    const edited = await bob.ask('PATCH', path, { body: 'Better' });
    expect(edited.status).toBe(200);
    expect(edited.body).toEqual({ ...before, body: 'Better', updated_at: expect.any(String) });
    expect(Date.parse(edited.body.updated_at)).toBeGreaterThan(Date.parse(before.updated_at));
    expect(await eventsOf('comment.edited', id)).toMatchObject([
      {
        repository: { full_name: 'ada/engine' },
        sender: { login: 'bob' },
        thread: { number: 1, title: 'First', user: { login: 'ada' } },
        comment: { id, body: 'Better', number: before.number, user: { login: 'bob' } },
      },
    ]);
    expect((await cleo.ask('GET', path)).body).toEqual(edited.body);
  });

  test('to the same text writes nothing and is no event', async () => {
    const { id, path } = await comment();
    const before = (await bob.ask('GET', path)).body;
    expect(await bob.ask('PATCH', path, { body: 'Hello' })).toMatchObject({
      status: 200,
      body: before,
    });
    expect(await eventsOf('comment.edited', id)).toEqual([]);
  });

  test('is for the author and for who may write', async () => {
    const { id, path } = await comment();
    expect((await cleo.ask('PATCH', path, { body: 'Mine' })).status).toBe(403);
    expect((await cleo.ask('DELETE', path)).status).toBe(403);
    expect((await ada.ask('PATCH', path, { body: 'Moderated' })).status).toBe(200);
    const [event] = await eventsOf('comment.edited', id);
    expect(event).toMatchObject({ sender: { login: 'ada' }, comment: { user: { login: 'bob' } } });
  });

  test('and deleting with If-Match meet only what the asker has seen', async () => {
    const { path } = await comment();
    const seen = { 'if-match': (await bob.ask('GET', path)).headers.get('etag') ?? '' };
    expect((await bob.ask('PATCH', path, { body: 'One' }, seen)).status).toBe(200);
    expect((await ada.ask('PATCH', path, { body: 'Two' }, seen)).status).toBe(412);
    expect((await ada.ask('DELETE', path, undefined, seen)).status).toBe(412);
    const now = { 'if-match': (await ada.ask('GET', path)).headers.get('etag') ?? '' };
    expect((await ada.ask('DELETE', path, undefined, now)).status).toBe(204);
  });

  test.each([
    ['nothing', { body: '' }, 'body'],
    ['what shows nothing', { body: '\u200B\u2060' }, 'body'],
    ['another field', { body: 'x', title: 'y' }, 'title'],
  ])('to %s is a 422', async (_name, wanted, field) => {
    const { path } = await comment();
    const { status, body } = await bob.ask('PATCH', path, wanted);
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ field }]);
  });
});

describe('deleting', () => {
  test('ends what waits of its text, tells who was to hear, and sends that it is gone', async () => {
    const { id, path } = await comment('A secret');
    await bob.ask('PATCH', path, { body: 'Still a secret' });
    expect(await jobsOf(id)).toMatchObject([
      { type: 'comment.created', kind: 'email', status: 'pending' },
      { type: 'comment.created', kind: 'email', status: 'pending' },
      { type: 'comment.created', kind: 'webhook', status: 'pending' },
      { type: 'comment.edited', kind: 'webhook', status: 'pending' },
    ]);
    expect(await bob.ask('DELETE', path)).toMatchObject({ status: 204, body: undefined });
    expect(await bob.ask('GET', path)).toMatchObject({ status: 404 });
    const ended = { status: 'cancelled', reason: 'comment_deleted' };
    expect(await jobsOf(id)).toMatchObject([
      { type: 'comment.created', kind: 'email', ...ended },
      { type: 'comment.created', kind: 'email', ...ended },
      { type: 'comment.created', kind: 'webhook', ...ended },
      { type: 'comment.deleted', kind: 'webhook', status: 'pending', reason: null },
      { type: 'comment.edited', kind: 'webhook', ...ended },
    ]);
    const [event] = await eventsOf('comment.deleted', id);
    expect(event).toMatchObject({
      sender: { login: 'bob' },
      thread: { number: 1 },
      comment: { id, body: '', user: { login: 'bob' } },
    });
    expect(JSON.stringify(event)).not.toContain('secret');
  });

  test('leaves what other comments have queued', async () => {
    const [kept, deleted] = [await comment(), await comment()];
    await jobsOf(kept.id);
    await bob.ask('DELETE', deleted.path);
    expect((await jobsOf(kept.id)).map(({ status }) => status)).toEqual(Array(3).fill('pending'));
  });

  test('at once, by many, is one event; the others find nothing', async () => {
    const { id, path } = await comment();
    const answers = await Promise.all([ada, bob, ada, bob].map((who) => who.ask('DELETE', path)));
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([204, 404, 404, 404]);
    expect(await eventsOf('comment.deleted', id)).toHaveLength(1);
  });

  test('never gives its number again', async () => {
    const first = await comment();
    const { number } = (await bob.ask('GET', first.path)).body;
    await bob.ask('DELETE', first.path);
    const next = await comment();
    expect((await bob.ask('GET', next.path)).body.number).toBe(number + 1);
  });

  test('makes the late result of a worker that sends it just now a no-op', async () => {
    // What waits already would take the slots of the lane.
    await api.pool.query(
      `SELECT delivery_cancel(ARRAY(SELECT id FROM delivery_job WHERE status = 'pending'), 'test')`,
    );
    const { id, path } = await comment();
    const mine = new Set((await jobsOf(id)).map((job) => job.id));
    const { rows } = await api.pool.query<{ lane: string }>('SELECT lane FROM delivery_lane');
    await proveLanes(
      api.pool,
      rows.map(({ lane }) => lane),
    );
    const { jobs } = await queue.claim({ kind: 'email', version: 1, jobs: 500, lanes: 100 });
    const flying = jobs.filter((job) => mine.has(job.id));
    expect(flying).toHaveLength(2);
    await bob.ask('DELETE', path);
    expect(await Promise.all(flying.map((job) => queue.confirm(job)))).toEqual(['lost', 'lost']);
    const settled = await queue.settle(
      flying.map(({ id: job, leaseNo, lane, version }) => ({
        id: job,
        leaseNo,
        lane,
        version,
        outcome: 'delivered',
        reason: null,
        charged: true,
        delayMs: 0,
        attempt: null,
      })),
    );
    expect(settled).toEqual([]);
    expect(await jobsOf(id)).toMatchObject(
      ['email', 'email', 'webhook']
        .map((kind) => ({ kind, status: 'cancelled' }))
        .concat([{ kind: 'webhook', status: 'pending' }]),
    );
    const cancelled = (await jobsOf(id)).filter(({ status }) => status === 'cancelled');
    const again = cancelled.map((job) => job.id);
    expect(await queue.redeliver(sqlOfPool(api.pool), again)).toEqual([]);
  });
});

test('a comment on a thread that goes meanwhile is a 404', async () => {
  const made = await ada.ask('POST', '/repos/ada/other/threads', { title: 'Short-lived' });
  const holder = await api.pool.connect();
  await holder.query('BEGIN');
  await holder.query('DELETE FROM thread WHERE id = $1', [made.body.id]);
  const posting = bob.ask('POST', `/repos/ada/other/threads/${made.body.number}/comments`, {
    body: 'Too late',
  });
  await untilBlocked(api.pool, 'the comment to wait');
  await holder.query('COMMIT');
  holder.release();
  expect((await posting).status).toBe(404);
});
