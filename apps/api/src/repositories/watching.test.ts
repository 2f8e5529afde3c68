import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { nextPage } from '../../../../test/support/next-page.js';
import {
  type Answer,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../test/support/test-api.js';

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
  await ada.ask('POST', '/user/repos', { name: 'secret', private: true });
});
afterAll(() => api.stop());

const WATCH = '/repos/ada/engine/subscription';
const namesOf = (answer: Answer): string[] =>
  answer.body.map((item: { login?: string; full_name?: string }) => item.full_name ?? item.login);

describe('a choice', () => {
  test('a person watches, ignores and forgets a repository', async () => {
    expect((await bob.ask('GET', WATCH)).status).toBe(404);
    expect(await bob.ask('PUT', WATCH)).toMatchObject({
      status: 200,
      body: {
        subscribed: true,
        ignored: false,
        reason: null,
        created_at: expect.any(String),
        url: 'https://ghost.example/api/repos/ada/engine/subscription',
        repository_url: 'https://ghost.example/api/repos/ada/engine',
      },
    });
    const ignoring = await bob.ask('PUT', WATCH, { ignored: true });
    expect(ignoring.body).toMatchObject({ subscribed: false, ignored: true });
    expect((await bob.ask('GET', WATCH)).body).toEqual(ignoring.body);
    const neither = await bob.ask('PUT', WATCH, { subscribed: false });
    expect(neither.body).toMatchObject({
      subscribed: false,
      ignored: false,
      created_at: expect.any(String),
    });
    expect((await bob.ask('GET', WATCH)).status).toBe(404);
    await bob.ask('PUT', WATCH, { subscribed: true, ignored: false });
    expect((await bob.ask('DELETE', WATCH)).status).toBe(204);
    expect((await bob.ask('GET', WATCH)).status).toBe(404);
  });

  test('watching and ignoring at once is a 422', async () => {
    const answer = await bob.ask('PUT', WATCH, { subscribed: true, ignored: true });
    expect(answer.body.errors).toMatchObject([{ field: 'ignored' }]);
    expect(answer.status).toBe(422);
  });
});

describe('lists', () => {
  test('who watches is listed in pages, who ignores is not', async () => {
    await bob.ask('PUT', WATCH, { subscribed: true });
    await cleo.ask('PUT', WATCH, { ignored: true });
    const first = await bob.ask('GET', '/repos/ada/engine/subscribers?per_page=1');
    expect(namesOf(first)).toEqual(['ada']);
    const second = await bob.ask('GET', nextPage(first) ?? '');
    expect(namesOf(second)).toEqual(['bob']);
    expect(second.headers.get('link')).not.toContain('next');
    const anonymous = await fetch(`${api.url}/api/repos/ada/engine/subscribers`);
    expect(await anonymous.json()).toMatchObject([{ login: 'ada' }, { login: 'bob' }]);
  });

  test('who lost access is no subscriber, and watches nothing there', async () => {
    await ada.ask('PUT', '/repos/ada/secret/collaborators/bob');
    await bob.ask('PUT', '/repos/ada/secret/subscription');
    await bob.ask('PUT', WATCH, { subscribed: true });
    expect(namesOf(await ada.ask('GET', '/repos/ada/secret/subscribers'))).toEqual(['ada', 'bob']);
    expect(namesOf(await bob.ask('GET', '/user/subscriptions'))).toEqual([
      'ada/engine',
      'ada/secret',
    ]);
    await ada.ask('DELETE', '/repos/ada/secret/collaborators/bob');
    expect(namesOf(await ada.ask('GET', '/repos/ada/secret/subscribers'))).toEqual(['ada']);
    expect(namesOf(await bob.ask('GET', '/user/subscriptions'))).toEqual(['ada/engine']);
  });
});
