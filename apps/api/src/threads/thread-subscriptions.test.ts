import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { type Person, startTestApi, type TestApi } from '../../../../test/support/test-api.js';

let api: TestApi;
let ada: Person;
let bob: Person;
let threads = 0;
let thread: string;

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
  bob = await api.addPerson('bob');
  await ada.ask('POST', '/user/repos', { name: 'engine', private: false });
  await ada.ask('POST', '/user/repos', { name: 'secret' });
  await ada.ask('POST', '/repos/ada/secret/threads', { title: 'Hidden' });
});
afterAll(() => api.stop());

beforeEach(async () => {
  threads += 1;
  thread = `/repos/ada/engine/threads/${threads}`;
  await ada.ask('POST', '/repos/ada/engine/threads', { title: `Thread ${threads}` });
});

describe('a subscription to a thread', () => {
  test('is made, muted, unmuted and forgotten', async () => {
    const path = `${thread}/subscription`;
    expect((await bob.ask('GET', path)).status).toBe(404);
    const made = await bob.ask('PUT', path, { subscribed: true });
    expect(made).toMatchObject({ status: 200 });
    expect(made.body).toEqual({
      subscribed: true,
      ignored: false,
      reason: 'manual',
      created_at: expect.any(String),
      url: `https://ghost.example/api${path}`,
      thread_url: `https://ghost.example/api${thread}`,
    });
    expect((await bob.ask('GET', path)).body).toEqual(made.body);
    const muted = await bob.ask('PUT', path, { ignored: true });
    expect(muted.body).toEqual({ ...made.body, subscribed: false, ignored: true });
    expect((await bob.ask('PUT', path, { ignored: false })).body).toEqual(made.body);
    for (let n = 0; n < 2; n += 1) expect((await bob.ask('DELETE', path)).status).toBe(204);
    expect((await bob.ask('GET', path)).status).toBe(404);
  });

  test('without a body subscribes; with neither it is forgotten', async () => {
    const path = `${thread}/subscription`;
    expect((await bob.ask('PUT', path)).body).toMatchObject({ subscribed: true, ignored: false });
    const neither = await bob.ask('PUT', path, { subscribed: false });
    expect(neither.body).toMatchObject({
      subscribed: false,
      ignored: false,
      reason: null,
      created_at: null,
    });
    expect((await bob.ask('GET', path)).status).toBe(404);
  });

  test('keeps the reason for which one takes part', async () => {
    const path = `${thread}/subscription`;
    expect((await ada.ask('GET', path)).body).toMatchObject({ subscribed: true, reason: 'author' });
    await bob.ask('POST', `${thread}/comments`, { body: 'Hello' });
    await bob.ask('PUT', path, { ignored: true });
    expect((await bob.ask('PUT', path)).body).toMatchObject({
      subscribed: true,
      reason: 'participant',
    });
  });

  test.each([
    [{ subscribed: true, ignored: true }, 'ignored'],
    [{ ignored: 'yes' }, 'ignored'],
    [{ watching: true }, 'watching'],
  ])('of %j is a 422 that names the field', async (wanted, field) => {
    const { status, body } = await bob.ask('PUT', `${thread}/subscription`, wanted);
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ field }]);
  });

  test.each(['GET', 'PUT', 'DELETE'])('%s: a hidden thread looks like none', async (method) => {
    const hidden = await bob.ask(method, '/repos/ada/secret/threads/1/subscription');
    const absent = await bob.ask(method, '/repos/ada/secret/threads/2/subscription');
    const nowhere = await bob.ask(method, '/repos/ada/nothing/threads/1/subscription');
    for (const answer of [hidden, absent, nowhere]) {
      expect(answer).toMatchObject({
        status: 404,
        body: { message: 'Not Found', code: 'not_found' },
      });
    }
  });
});
