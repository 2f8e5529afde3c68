import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type Person, startTestApi, type TestApi } from '../../../../test/support/test-api.js';

let api: TestApi;
let ada: Person;
let bob: Person;

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
  bob = await api.addPerson('bob');
  await ada.ask('POST', '/user/repos', { name: 'engine', private: false });
  await ada.ask('POST', '/user/repos', { name: 'secret', private: true });
  await ada.ask('POST', '/repos/ada/secret/threads', { title: 'Hidden' });
  await ada.ask('POST', '/repos/ada/engine/threads', { title: 'First', body: 'Hello' });
});
afterAll(() => api.stop());

const COMMENTS = '/repos/ada/engine/threads/1/comments';

async function participation(login: string) {
  const { rows } = await api.pool.query(
    `SELECT s.reason, s.muted FROM thread_subscription s JOIN account a ON a.id = s.account_id
     JOIN thread t ON t.id = s.thread_id JOIN repository r ON r.id = t.repository_id
     WHERE a.login = $1 AND r.name = 'engine' AND t.number = 1`,
    [login],
  );
  return rows[0];
}

describe('threads', () => {
  test('a thread is numbered, its author takes part, and the event is a snapshot of it', async () => {
    const { status, body } = await bob.ask('POST', '/repos/ada/engine/threads', {
      title: '  Wheels 🎡 ',
      body: 'Do they turn?',
      labels: ['question'],
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      title: 'Wheels 🎡',
      body: 'Do they turn?',
      state: 'open',
      user: { login: 'bob' },
      html_url: `https://ghost.example/ada/engine/threads/${body.number}`,
    });
    const [event] = (await api.eventsOf('thread.opened')).slice(-1);
    expect(event).toMatchObject({
      repository: { full_name: 'ada/engine', private: false },
      sender: { id: bob.id, login: 'bob' },
      thread: { id: body.id, number: body.number, title: 'Wheels 🎡', user: { login: 'bob' } },
    });
    const shown = await ada.ask('GET', `/repos/ada/engine/threads/${body.number}`);
    expect(shown).toMatchObject({ status: 200, body });
  });

  test('threads opened at once get numbers without gaps or doubles', async () => {
    await ada.ask('POST', '/user/repos', { name: 'busy', private: false });
    const made = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        ada.ask('POST', '/repos/ada/busy/threads', { title: `Thread ${n}` }),
      ),
    );
    const numbers = made.map(({ body }) => body.number).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: 12 }, (_, n) => n + 1));
  });

  test.each([
    ['no title', {}, 'title', 'missing_field'],
    ['a blank title', { title: '  ' }, 'title', 'missing_field'],
    ['a title of two lines', { title: 'a\r\nBcc: x@y.example' }, 'title', 'invalid'],
    ['a title with a line separator', { title: 'a\u2028b' }, 'title', 'invalid'],
    ['a title with NUL', { title: 'a\0b' }, 'title', 'invalid'],
    ['a title of 257 characters', { title: 'é'.repeat(257) }, 'title', 'too_long'],
    ['a title that is a number', { title: 7 }, 'title', 'invalid'],
    ['a body of 65,537 characters', { title: 'a', body: 'x'.repeat(65_537) }, 'body', 'too_long'],
    ['an unknown field', { title: 'a', colour: 'red' }, 'colour', 'unknown_field'],
  ])('%s is a 422 that names the field', async (_name, body, field, code) => {
    const answer = await ada.ask('POST', '/repos/ada/engine/threads', body);
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({ code: 'validation_failed', message: 'Validation Failed' });
    expect(answer.body.errors).toMatchObject([{ field, code }]);
  });

  test('a title of 256 emoji is taken', async () => {
    const title = '🎉'.repeat(256);
    const { status, body } = await ada.ask('POST', '/repos/ada/engine/threads', { title });
    expect(status).toBe(201);
    expect(body.title).toBe(title);
  });
});

describe('comments', () => {
  test('a comment is answered in full, and its event holds all that a receiver needs', async () => {
    const { status, body } = await bob.ask('POST', COMMENTS, { body: 'They **turn**.' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      body: 'They **turn**.',
      user: { id: bob.id, login: 'bob' },
      html_url: `https://ghost.example/ada/engine/threads/1#comment-${body.id}`,
    });
    expect(Date.parse(body.created_at)).toBeLessThanOrEqual(Date.now() + 1000);
    const [event] = (await api.eventsOf('comment.created')).slice(-1);
    expect(event).toMatchObject({
      repository: { full_name: 'ada/engine' },
      sender: { login: 'bob' },
      thread: { number: 1, title: 'First', body: 'Hello', user: { login: 'ada' } },
      comment: { id: body.id, body: 'They **turn**.', user: { login: 'bob' } },
    });
    const listed = await ada.ask('GET', `${COMMENTS}?per_page=100`);
    expect(listed.body.at(-1)).toEqual(body);
  });

  test('who comments takes part; who muted the thread stays muted, and its author its author', async () => {
    const cleo = await api.addPerson('cleo');
    await cleo.ask('POST', COMMENTS, { body: 'One' });
    expect(await participation('cleo')).toEqual({ reason: 'participant', muted: false });
    await api.pool.query('UPDATE thread_subscription SET muted = true WHERE account_id = $1', [
      cleo.id,
    ]);
    await cleo.ask('POST', COMMENTS, { body: 'Two' });
    expect(await participation('cleo')).toEqual({ reason: 'participant', muted: true });
    await ada.ask('POST', COMMENTS, { body: 'Three' });
    expect(await participation('ada')).toEqual({ reason: 'author', muted: false });
  });

  test.each([
    ['65,536 characters', 'x'.repeat(65_536)],
    ['65,536 emoji', '😀'.repeat(65_536)],
    ['2,000 emoji', '👩‍👩‍👧‍👦🏳️‍🌈'.repeat(200)],
    ['Chinese and Japanese', '漢字かな混じり文。'.repeat(500)],
    ['line separators, script tags and control characters', 'a\u2028\u2029</script>\u0007\r\n\tb'],
  ])('%s come back as they were sent', async (_name, text) => {
    const { status, body } = await ada.ask('POST', COMMENTS, { body: text });
    expect(status).toBe(201);
    expect(body.body).toBe(text);
    const [event] = (await api.eventsOf('comment.created')).slice(-1);
    expect(event.comment.body).toBe(text);
  });

  test('65,536 emoji fit as JSON escapes too', async () => {
    const { status, body } = await ada.ask(
      'POST',
      COMMENTS,
      `{"body":"${'\\ud83d\\ude00'.repeat(65_536)}"}`,
    );
    expect(status).toBe(201);
    expect(body.body).toBe('😀'.repeat(65_536));
  });

  test('lone surrogates become the replacement character', async () => {
    const { status, body } = await ada.ask('POST', COMMENTS, '{"body":"a\\ud800b\\udc00c"}');
    expect(status).toBe(201);
    expect(body.body).toBe('a\uFFFDb\uFFFDc');
    const [event] = (await api.eventsOf('comment.created')).slice(-1);
    expect(event.comment.body).toBe('a\uFFFDb\uFFFDc');
  });

  test.each([
    ['NUL', 'a\0b', 'invalid', /NUL/],
    ['65,537 characters', '😀'.repeat(65_537), 'too_long', /65536/],
    ['nothing', '', 'missing_field', /empty/],
    ['blanks', ' \n\t ', 'missing_field', /empty/],
  ])('%s is a 422 that says why', async (_name, text, code, message) => {
    const answer = await ada.ask('POST', COMMENTS, { body: text });
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toEqual([
      { field: 'body', code, message: expect.stringMatching(message) },
    ]);
  });

  test('a comment whose event cannot be written is not written either', async () => {
    const before = (await ada.ask('GET', `${COMMENTS}?per_page=100`)).body.length;
    await api.pool.query(
      `ALTER TABLE outbox_event ADD CONSTRAINT planted CHECK (payload -> 'comment' ->> 'body' <> 'planted') NOT VALID`,
    );
    const answer = await ada.ask('POST', COMMENTS, { body: 'planted' });
    await api.pool.query('ALTER TABLE outbox_event DROP CONSTRAINT planted');
    expect(answer.status).toBe(500);
    const after = await ada.ask('GET', `${COMMENTS}?per_page=100`);
    expect(after.body).toHaveLength(before);
    const { rows } = await api.pool.query(`SELECT 1 FROM comment WHERE body = 'planted'`);
    expect(rows).toEqual([]);
  });

  test('a comment that does not commit publishes nothing', async () => {
    const before = (await api.eventsOf('comment.created')).length;
    await api.pool.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused at commit'; END $$;
      CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON comment DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.body = 'refused') EXECUTE FUNCTION refuse();`);
    const answer = await ada.ask('POST', COMMENTS, { body: 'refused' });
    await api.pool.query('DROP TRIGGER refuse ON comment');
    expect(answer.status).toBe(500);
    expect(await api.eventsOf('comment.created')).toHaveLength(before);
  });
});

test.each([
  ['GET', '/repos/ada/{}/threads/1', undefined],
  ['POST', '/repos/ada/{}/threads', { title: 'a' }],
  ['GET', '/repos/ada/{}/threads/1/comments', undefined],
  ['POST', '/repos/ada/{}/threads/1/comments', { body: 'a' }],
])('%s %s: a private repository looks like none', async (method, path, body) => {
  const hidden = await bob.ask(method, path.replace('{}', 'secret'), body);
  const absent = await bob.ask(method, path.replace('{}', 'nothing'), body);
  expect(hidden.status).toBe(404);
  expect(hidden.body).toEqual({ message: 'Not Found', code: 'not_found' });
  expect(absent).toMatchObject({ status: 404, body: hidden.body });
  expect((await ada.ask(method, path.replace('{}', 'secret'), body)).status).toBeLessThan(300);
});

test.each(['0', '99', '1e3', '-1', '9'.repeat(30), 'x', '%00', '1%2F2'])(
  'thread number %s is none',
  async (number) => {
    const { status, body } = await ada.ask('GET', `/repos/ada/engine/threads/${number}`);
    expect({ status, body }).toEqual({
      status: 404,
      body: { message: 'Not Found', code: 'not_found' },
    });
  },
);
