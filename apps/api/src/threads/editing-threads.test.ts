import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { nextPage } from '../../../../test/support/next-page.js';
import {
  type Answer,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../test/support/test-api.js';

const THREADS = '/repos/ada/engine/threads';

let api: TestApi;
let ada: Person;
let bob: Person;
let cleo: Person;

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
  bob = await api.addPerson('bob');
  cleo = await api.addPerson('cleo');
  await ada.ask('POST', '/user/repos', { name: 'engine', private: false });
});
afterAll(() => api.stop());

async function open(by: Person, title = 'A thread', body = 'Hello'): Promise<string> {
  const made = await by.ask('POST', THREADS, { title, body });
  expect(made.status).toBe(201);
  return `${THREADS}/${made.body.number}`;
}

async function eventsOf(type: string, path: string) {
  const number = Number(path.split('/').at(-1));
  return (await api.eventsOf(type)).filter((event) => event.thread.number === number);
}

const countEvents = async () => {
  const { rows } = await api.pool.query('SELECT count(*)::int AS n FROM outbox_event');
  return rows[0].n as number;
};

describe('a thread', () => {
  test('is answered in the shape of GitHub’s issues, without counts', async () => {
    const path = await open(bob);
    const { body, headers } = await ada.ask('GET', path);
    const url = `https://ghost.example/api${path}`;
    expect(body).toEqual({
      id: expect.any(Number),
      node_id: expect.any(String),
      number: expect.any(Number),
      title: 'A thread',
      body: 'Hello',
      state: 'open',
      locked: false,
      user: expect.objectContaining({ login: 'bob', type: 'User' }),
      url,
      repository_url: 'https://ghost.example/api/repos/ada/engine',
      comments_url: `${url}/comments`,
      html_url: `https://ghost.example${path.replace('/repos', '')}`,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/u),
      updated_at: body.created_at,
      closed_at: null,
    });
    const tag = headers.get('etag');
    await cleo.ask('POST', `${path}/comments`, { body: 'A comment changes nothing of it.' });
    expect((await ada.ask('GET', path)).headers.get('etag')).toBe(tag);
  });
});

describe('editing', () => {
  test('changes what is given, says when, and is no event', async () => {
    const path = await open(bob);
    const before = (await bob.ask('GET', path)).body;
    const events = await countEvents();
    const retitled = await bob.ask('PATCH', path, { title: ' Wheels ', labels: ['x'] });
    expect(retitled.status).toBe(200);
    expect(retitled.body).toEqual({
      ...before,
      title: 'Wheels',
      updated_at: expect.any(String),
    });
    expect(Date.parse(retitled.body.updated_at)).toBeGreaterThan(Date.parse(before.updated_at));
    const emptied = await bob.ask('PATCH', path, { body: null });
    expect(emptied.body).toMatchObject({ title: 'Wheels', body: '', state: 'open' });
    expect((await ada.ask('GET', path)).body).toEqual(emptied.body);
    expect(await countEvents()).toBe(events);
  });

  test('nothing that differs writes nothing', async () => {
    const path = await open(bob);
    const before = (await bob.ask('GET', path)).body;
    const rowVersion = async () => {
      const { rows } = await api.pool.query('SELECT xmin, * FROM thread WHERE id = $1', [
        before.id,
      ]);
      return rows[0];
    };
    const version = await rowVersion();
    const events = await countEvents();
    for (const same of [{}, { title: 'A thread' }, { body: 'Hello', state: 'open' }]) {
      expect(await bob.ask('PATCH', path, same)).toMatchObject({ status: 200, body: before });
    }
    expect(await rowVersion()).toEqual(version);
    expect(await countEvents()).toBe(events);
  });

  test('is for the author and for who may write; others learn that they may not', async () => {
    const path = await open(bob);
    await api.addPerson('dora');
    const refused = await cleo.ask('PATCH', path, { title: 'Mine' });
    expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    expect((await ada.ask('PATCH', path, { title: 'By the owner' })).status).toBe(200);
    await ada.ask('PUT', '/repos/ada/engine/collaborators/cleo', { permission: 'pull' });
    expect((await cleo.ask('PATCH', path, { title: 'Mine' })).status).toBe(403);
    await ada.ask('PUT', '/repos/ada/engine/collaborators/cleo', { permission: 'push' });
    expect((await cleo.ask('PATCH', path, { title: 'By a writer' })).status).toBe(200);
    await ada.ask('DELETE', '/repos/ada/engine/collaborators/cleo');
  });

  test('with If-Match, meets only what the asker has seen', async () => {
    const path = await open(bob);
    const seen = (await bob.ask('GET', path)).headers.get('etag') ?? '';
    const first = await bob.ask('PATCH', path, { title: 'One' }, { 'if-match': seen });
    expect(first.status).toBe(200);
    const late = await ada.ask('PATCH', path, { title: 'Two' }, { 'if-match': seen });
    expect(late).toMatchObject({ status: 412, body: { code: 'precondition_failed' } });
    const again = first.headers.get('etag') ?? '';
    expect((await ada.ask('PATCH', path, { title: 'Two' }, { 'if-match': again })).status).toBe(
      200,
    );
  });

  test('of two at once with the same If-Match, one is done', async () => {
    const path = await open(bob);
    const seen = (await bob.ask('GET', path)).headers.get('etag') ?? '';
    const answers = await Promise.all(
      ['One', 'Two', 'Three'].map((title) =>
        bob.ask('PATCH', path, { title }, { 'if-match': seen }),
      ),
    );
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 412, 412]);
  });

  test.each([
    ['an empty title', { title: ' ' }, 'title', 'missing_field'],
    ['a title that shows nothing', { title: '\u200B\uFEFF\u200E' }, 'title', 'missing_field'],
    ['no title', { title: null }, 'title', 'invalid'],
    ['a state that is none', { state: 'gone' }, 'state', 'invalid'],
    ['a body that is no text', { body: ['x'] }, 'body', 'invalid'],
    ['an unknown field', { colour: 'red' }, 'colour', 'unknown_field'],
  ])('%s is a 422 that names the field', async (_name, changes, field, code) => {
    const path = await open(bob);
    const answer = await bob.ask('PATCH', path, changes);
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toMatchObject([{ field, code }]);
  });
});

describe('closing', () => {
  test('and reopening are events, and set and clear closed_at', async () => {
    const path = await open(bob);
    const closed = await ada.ask('PATCH', path, { state: 'closed', state_reason: 'completed' });
    expect(closed.body).toMatchObject({ state: 'closed', closed_at: closed.body.updated_at });
    expect(await eventsOf('thread.closed', path)).toMatchObject([
      {
        repository: { full_name: 'ada/engine' },
        sender: { login: 'ada' },
        thread: { state: 'closed', closed_at: closed.body.closed_at, user: { login: 'bob' } },
      },
    ]);
    const reopened = await bob.ask('PATCH', path, { state: 'open', title: 'Again' });
    expect(reopened.body).toMatchObject({ state: 'open', title: 'Again', closed_at: null });
    expect(await eventsOf('thread.reopened', path)).toMatchObject([
      { sender: { login: 'bob' }, thread: { state: 'open', title: 'Again', closed_at: null } },
    ]);
    expect((await ada.ask('GET', path)).body).toEqual(reopened.body);
  });

  test('at once, by many, is one event', async () => {
    const path = await open(bob);
    const answers = await Promise.all(
      [ada, bob, ada, bob, ada, bob].map((who) => who.ask('PATCH', path, { state: 'closed' })),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map(({ body }) => body.closed_at)).size).toBe(1);
    expect(await eventsOf('thread.closed', path)).toHaveLength(1);
  });

  test('that cannot publish its event closes nothing', async () => {
    const path = await open(bob);
    await api.pool.query(
      `ALTER TABLE outbox_event ADD CONSTRAINT planted CHECK (type <> 'thread.closed') NOT VALID`,
    );
    const answer = await bob.ask('PATCH', path, { state: 'closed' });
    await api.pool.query('ALTER TABLE outbox_event DROP CONSTRAINT planted');
    expect(answer.status).toBe(500);
    expect((await bob.ask('GET', path)).body).toMatchObject({ state: 'open', closed_at: null });
  });
});

describe('the list', () => {
  const LIST = '/repos/ada/listed/threads';

  beforeAll(async () => {
    await ada.ask('POST', '/user/repos', { name: 'listed', private: false });
    for (let n = 1; n <= 7; n += 1) await ada.ask('POST', LIST, { title: `Thread ${n}` });
    for (const n of [2, 5]) await ada.ask('PATCH', `${LIST}/${n}`, { state: 'closed' });
  });

  const numbers = ({ body }: Answer) => body.map((thread: { number: number }) => thread.number);

  /** Follows `Link` to its end. */
  async function walk(path: string): Promise<number[][]> {
    const pages: number[][] = [];
    for (let next: string | undefined = path; next !== undefined && pages.length < 20; ) {
      const answer: Answer = await bob.ask('GET', next);
      expect(answer.status).toBe(200);
      pages.push(numbers(answer));
      next = nextPage(answer);
    }
    return pages;
  }

  test.each([
    ['', [7, 6, 4, 3, 1]],
    ['?state=open&direction=asc', [1, 3, 4, 6, 7]],
    ['?state=closed', [5, 2]],
    ['?state=all&sort=created', [7, 6, 5, 4, 3, 2, 1]],
  ])('%s holds %j', async (query, wanted) => {
    expect(numbers(await bob.ask('GET', `${LIST}${query}`))).toEqual(wanted);
  });

  test('is walked by Link, forwards and backwards, with its filter', async () => {
    expect(await walk(`${LIST}?state=all&per_page=3`)).toEqual([[7, 6, 5], [4, 3, 2], [1]]);
    expect(await walk(`${LIST}?per_page=2&direction=asc`)).toEqual([[1, 3], [4, 6], [7]]);
    expect(await walk(`${LIST}?state=closed&per_page=1`)).toEqual([[5], [2]]);
  });

  test('holds what a thread alone is, and nothing of other repositories', async () => {
    const [first] = (await bob.ask('GET', LIST)).body;
    expect(first).toEqual((await bob.ask('GET', `${LIST}/7`)).body);
  });

  test.each([
    ['state=gone', 'state'],
    ['sort=updated', 'sort'],
    ['direction=up', 'direction'],
    ['labels=x', 'labels'],
    ['after=bm9uZQ', 'after'],
    ['page=2', 'page'],
    ['per_page=101', 'per_page'],
  ])('?%s is a 422 that names the field', async (query, field) => {
    const { status, body } = await bob.ask('GET', `${LIST}?${query}`);
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ field }]);
  });

  test('of a public repository is for everybody, of a private one not', async () => {
    const response = await fetch(`${api.url}/api${LIST}`);
    expect(response.status).toBe(200);
    await ada.ask('POST', '/user/repos', { name: 'hidden' });
    expect((await bob.ask('GET', '/repos/ada/hidden/threads')).status).toBe(404);
    expect((await fetch(`${api.url}/api/repos/ada/hidden/threads`)).status).toBe(404);
  });
});
