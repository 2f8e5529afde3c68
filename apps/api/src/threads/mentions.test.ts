import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type Person, startTestApi, type TestApi } from '../../../../test/support/test-api.js';
import { untilBlocked } from '../../../../test/support/until-blocked.js';
import { untilFannedOut } from '../../../../test/support/until-fanned-out.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

let api: TestApi;
let ada: Person;
let bob: Person;
let cleo: Person;
let dora: Person;

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
  bob = await api.addPerson('Bob');
  cleo = await api.addPerson('cleo');
  dora = await api.addPerson('dora');
});
afterAll(() => api.stop());

let places = 0;

/** A repository of ada with a thread; a private one has bob as a member. */
async function place(options: { private?: boolean } = {}): Promise<string> {
  places += 1;
  const name = `place-${places}`;
  await ada.ask('POST', '/user/repos', { name, private: options.private ?? false });
  if (options.private) {
    await ada.ask('PUT', `/repos/ada/${name}/collaborators/bob`, { permission: 'pull' });
  }
  await ada.ask('POST', `/repos/ada/${name}/threads`, { title: 'A thread' });
  return `/repos/ada/${name}/threads/1`;
}

async function comment(who: Person, thread: string, body: string) {
  const made = await who.ask('POST', `${thread}/comments`, { body });
  expect(made.status).toBe(201);
  const event = (await api.eventsOf('comment.created')).find(
    (each) => each.comment.id === made.body.id,
  );
  return { answer: made.body, event };
}

/** The reasons in the mails of an event's fan-out, and in its skips, by login. */
async function heard(commentId: number) {
  await untilFannedOut(api.pool);
  const { rows } = await api.pool.query<{ login: string; what: string }>(
    `SELECT a.login, j.own -> 'slots' ->> 'r' AS what FROM outbox_event e
     JOIN delivery_job j ON j.event_id = e.id JOIN account a ON a.id = j.account_id WHERE e.comment_id = $1
     UNION ALL
     SELECT a.login, 'no: ' || s.reason FROM outbox_event e
     JOIN fanout_skip s ON s.event_id = e.id AND s.target_kind = 'account'
     JOIN account a ON a.id = s.target_id WHERE e.comment_id = $1`,
    [commentId],
  );
  return Object.fromEntries(rows.map(({ login, what }) => [login, what]));
}

const followed = async (who: Person, thread: string) =>
  (await who.ask('GET', `${thread}/subscription`)).body;

describe('who is mentioned', () => {
  test('follows the thread, is named in the event, and gets the mail for that reason', async () => {
    const thread = await place();
    const { answer, event } = await comment(ada, thread, 'Look, @BOB and @cleo, and `@dora`.');
    expect(event.comment.mentions).toEqual([
      { id: bob.id, login: 'Bob', name: expect.any(String) },
      { id: cleo.id, login: 'cleo', name: expect.any(String) },
    ]);
    expect(await heard(answer.id)).toEqual({
      Bob: 'mentioned',
      cleo: 'mentioned',
      ada: 'no: actor',
    });
    expect(await followed(bob, thread)).toMatchObject({ subscribed: true, reason: 'mention' });
    const later = await comment(ada, thread, 'More.');
    expect(later.event.comment).not.toHaveProperty('mentions');
    expect(await heard(later.answer.id)).toMatchObject({ Bob: 'mentioned', cleo: 'mentioned' });
  });

  test('hears so as the author of the thread, a participant and a watcher too', async () => {
    const thread = await place();
    await comment(bob, thread, 'I take part.');
    await cleo.ask('PUT', thread.replace(/\/threads.*/u, '/subscription'));
    await dora.ask('PUT', thread.replace(/\/threads.*/u, '/subscription'));
    const { answer } = await comment(dora, thread, '@ada @bob @cleo @dora');
    expect(await heard(answer.id)).toEqual({
      ada: 'mentioned',
      Bob: 'mentioned',
      cleo: 'mentioned',
      dora: 'no: actor',
    });
    // A mention changes no reason that was there.
    expect(await followed(ada, thread)).toMatchObject({ reason: 'author' });
    expect(await followed(bob, thread)).toMatchObject({ reason: 'participant' });
    expect(await followed(cleo, thread)).toMatchObject({ reason: 'mention' });
    expect(await followed(dora, thread)).toMatchObject({ reason: 'participant' });
  });

  test('takes part once they comment: later mails say so, and do not count as mails by mention', async () => {
    const thread = await place();
    await comment(ada, thread, '@bob');
    await cleo.ask('PUT', `${thread}/subscription`);
    await comment(bob, thread, 'Here I am.');
    await comment(cleo, thread, 'I was here.');
    const { answer } = await comment(ada, thread, 'Fine.');
    expect(await heard(answer.id)).toMatchObject({ Bob: 'participant', cleo: 'participant' });
    expect(await followed(bob, thread)).toMatchObject({ subscribed: true, reason: 'participant' });
  });

  test('hears nothing of a thread that is muted or a repository that is ignored', async () => {
    const thread = await place();
    await bob.ask('PUT', `${thread}/subscription`, { ignored: true });
    await cleo.ask('PUT', thread.replace(/\/threads.*/u, '/subscription'), { ignored: true });
    const { answer } = await comment(ada, thread, '@bob @cleo');
    expect(await heard(answer.id)).toMatchObject({ Bob: 'no: muted', cleo: 'no: ignored' });
    expect(await followed(bob, thread)).toMatchObject({ ignored: true, reason: 'manual' });
  });

  test('in a private repository is somebody who may read it; all other names are text', async () => {
    const thread = await place({ private: true });
    const { answer, event } = await comment(ada, thread, '@bob @cleo @nobody @ada');
    expect(event.comment.mentions.map((person: Person) => person.login)).toEqual(['ada', 'Bob']);
    expect(JSON.stringify(answer)).not.toContain('mentions');
    expect(await heard(answer.id)).toEqual({ Bob: 'mentioned', ada: 'no: actor' });
    const { rows } = await api.pool.query(
      'SELECT FROM thread_subscription WHERE account_id = $1 AND thread_id = $2',
      [cleo.id, event.thread.id],
    );
    expect(rows).toEqual([]);
  });

  test('and has no access any more at fan-out gets nothing', async () => {
    const thread = await place({ private: true });
    const repository = thread.replace(/\/threads.*/u, '');
    const { answer } = await comment(ada, thread, '@bob');
    await heard(answer.id);
    await ada.ask('DELETE', `${repository}/collaborators/bob`);
    const later = await comment(ada, thread, 'Again');
    expect(await heard(later.answer.id)).toMatchObject({ Bob: 'no: no_access' });
  });

  test('by the text of a new thread hears of it so', async () => {
    const thread = await place();
    const threads = thread.replace(/\/1$/u, '');
    const made = await ada.ask('POST', threads, { title: 'For @cleo', body: 'Or for @bob?' });
    const event = (await api.eventsOf('thread.opened')).at(-1);
    expect(event.thread.mentions).toMatchObject([{ login: 'Bob' }]);
    expect(await followed(bob, `${threads}/${made.body.number}`)).toMatchObject({
      reason: 'mention',
    });
    const mail = async () => {
      const { rows } = await api.pool.query(
        `SELECT j.own -> 'slots' ->> 'r' AS reason FROM delivery_job j JOIN outbox_event e ON e.id = j.event_id
         WHERE e.type = 'thread.opened' AND (e.payload #>> '{thread,id}')::bigint = $1 AND j.account_id = $2`,
        [made.body.id, bob.id],
      );
      return rows[0]?.reason;
    };
    expect(await waitUntil(mail, { what: 'the mail to bob' })).toBe('mentioned');
  });
});

describe('an edit that mentions more people', () => {
  test('of a comment makes them follow, names all in the event, and mails nobody', async () => {
    const thread = await place();
    const { answer } = await comment(ada, thread, 'Hello @bob');
    await bob.ask('DELETE', `${thread}/subscription`);
    const path = `${thread.replace(/\/1$/u, '')}/comments/${answer.id}`;
    const edited = await ada.ask('PATCH', path, { body: 'Hello @bob and @cleo' });
    expect(edited.status).toBe(200);
    const event = (await api.eventsOf('comment.edited')).at(-1);
    expect(event.comment.mentions).toMatchObject([{ login: 'Bob' }, { login: 'cleo' }]);
    expect(await followed(cleo, thread)).toMatchObject({ subscribed: true, reason: 'mention' });
    // Who had left the thread is not called back by an edit.
    expect((await bob.ask('GET', `${thread}/subscription`)).status).toBe(404);
    await heard(answer.id);
    const { rows } = await api.pool.query(
      `SELECT FROM delivery_job j JOIN outbox_event e ON e.id = j.event_id
       WHERE e.comment_id = $1 AND e.type = 'comment.edited' AND j.kind = 'email'`,
      [answer.id],
    );
    expect(rows).toEqual([]);
  });

  test('of a thread makes them follow', async () => {
    const thread = await place();
    await ada.ask('PATCH', thread, { body: 'See @cleo' });
    expect(await followed(cleo, thread)).toMatchObject({ subscribed: true, reason: 'mention' });
  });
});

test('an edit that mentions whom a post in progress mentions too waits for its turn', async () => {
  const thread = await place();
  const { id } = (await ada.ask('GET', thread)).body;
  const follow = `INSERT INTO thread_subscription (thread_id, account_id, reason) VALUES ($1, $2, 'participant')`;
  // What a post by cleo that mentions bob does; the edit takes the two by their ids, the other way round.
  const post = await api.pool.connect();
  await post.query('BEGIN');
  await post.query('UPDATE comment_counter SET last = last + 1 WHERE thread_id = $1', [id]);
  await post.query(follow, [id, cleo.id]);
  const edit = ada.ask('PATCH', thread, { body: '@bob @cleo' });
  await untilBlocked(api.pool, 'the edit to wait');
  await post.query(follow, [id, bob.id]);
  await post.query('COMMIT');
  post.release();
  expect((await edit).status).toBe(200);
});

test('people who mention each other at once, by posts and edits, do not block each other', async () => {
  for (let round = 0; round < 5; round += 1) {
    const thread = await place();
    const edited = await comment(ada, thread, 'x');
    const path = `${thread.replace(/\/1$/u, '')}/comments/${edited.answer.id}`;
    const answers = await Promise.all([
      bob.ask('POST', `${thread}/comments`, { body: '@cleo @dora' }),
      ada.ask('PATCH', path, { body: '@bob @cleo @dora' }),
      cleo.ask('POST', `${thread}/comments`, { body: '@dora @bob' }),
      ada.ask('PATCH', thread, { body: '@dora @cleo @bob' }),
      dora.ask('POST', `${thread}/comments`, { body: '@bob @cleo' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 201, 200, 201]);
  }
});
