import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type Person, startTestApi, type TestApi } from '../../../../test/support/test-api.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

let api: TestApi;
let ada: Person;
let bob: Person;
let cleo: Person;

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
  bob = await api.addPerson('bob');
  cleo = await api.addPerson('cleo');
  await ada.ask('POST', '/user/repos', { name: 'engine' });
  await ada.ask('POST', '/user/repos', { name: 'secret', private: true });
});
afterAll(() => api.stop());

const NOT_FOUND = { message: 'Not Found', code: 'not_found' };

describe('making repositories', () => {
  test('a repository is answered in the usual shape, and its owner watches it', async () => {
    const { status, body } = await bob.ask('POST', '/user/repos', {
      name: 'Tools.js',
      description: 'Sharp ones 🔪',
      has_issues: true,
      auto_init: true,
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      name: 'Tools.js',
      full_name: 'bob/Tools.js',
      owner: { id: bob.id, login: 'bob', type: 'User' },
      private: false,
      visibility: 'public',
      description: 'Sharp ones 🔪',
      html_url: 'https://ghost.example/bob/Tools.js',
      url: 'https://ghost.example/api/repos/bob/Tools.js',
      permissions: { admin: true, push: true, pull: true },
    });
    const watch = await bob.ask('GET', '/repos/bob/tools.js/subscription');
    expect(watch.body).toMatchObject({ subscribed: true, ignored: false });
    const seen = await ada.ask('GET', '/repos/BOB/TOOLS.JS');
    expect(seen.body).toMatchObject({
      full_name: 'bob/Tools.js',
      permissions: { admin: false, push: false, pull: true },
    });
  });

  test.each([
    ['no name', {}, 'name', 'missing_field'],
    ['a name with a slash', { name: 'a/b' }, 'name', 'invalid'],
    ['the name ".."', { name: '..' }, 'name', 'invalid'],
    ['a name that ends with .git', { name: 'a.git' }, 'name', 'invalid'],
    ['a name of 101 characters', { name: 'a'.repeat(101) }, 'name', 'invalid'],
    ['a name that is taken, without case', { name: 'ENGINE' }, 'name', 'already_exists'],
    ['a description with NUL', { name: 'a', description: 'a\0' }, 'description', 'invalid'],
    ['"private" as text', { name: 'a', private: 'true' }, 'private', 'invalid'],
    ['an unknown field', { name: 'a', visibility: 'private' }, 'visibility', 'unknown_field'],
  ])('%s is a 422 that names the field', async (_name, wanted, field, code) => {
    const { status, body } = await ada.ask('POST', '/user/repos', wanted);
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ field, code }]);
  });
});

describe('collaborators', () => {
  test.each([
    [undefined, { admin: false, push: true }],
    [{ permission: 'pull' }, { admin: false, push: false }],
    [{ permission: 'write' }, { admin: false, push: true }],
    [{ permission: 'admin' }, { admin: true, push: true }],
    [{ permission: 'read' }, { admin: false, push: false }],
  ])('a member with %j may do as much', async (wanted, permissions) => {
    const { status, body } = await ada.ask('PUT', '/repos/ada/secret/collaborators/CLEO', wanted);
    expect({ status, body }).toEqual({ status: 204, body: undefined });
    const seen = await cleo.ask('GET', '/repos/ada/secret');
    expect(seen.body.permissions).toMatchObject(permissions);
  });

  test('only the first addition and the removal are events', async () => {
    const dan = await api.addPerson('dan');
    await ada.ask('PUT', '/repos/ada/engine/collaborators/dan', { permission: 'push' });
    await ada.ask('PUT', '/repos/ada/engine/collaborators/dan', { permission: 'admin' });
    await dan.ask('DELETE', '/repos/ada/engine/collaborators/dan');
    const again = await ada.ask('DELETE', '/repos/ada/engine/collaborators/dan');
    expect(again.status).toBe(204);
    const toMember = (payload: { member: { login: string } }) => payload.member.login === 'dan';
    const added = (await api.eventsOf('member.added')).filter(toMember);
    const removed = (await api.eventsOf('member.removed')).filter(toMember);
    expect(added).toMatchObject([{ sender: { login: 'ada' }, repository: { name: 'engine' } }]);
    expect(removed).toMatchObject([{ sender: { login: 'dan' }, member: { id: dan.id } }]);
  });

  test.each([
    ['the owner', '/repos/ada/engine/collaborators/ada', undefined, 422],
    ['nobody', '/repos/ada/engine/collaborators/nobody', undefined, 404],
    ['no possible login', '/repos/ada/engine/collaborators/a%00b', undefined, 404],
    ['an unknown permission', '/repos/ada/engine/collaborators/bob', { permission: 'root' }, 422],
  ])('%s cannot be added', async (_name, path, wanted, status) => {
    expect((await ada.ask('PUT', path, wanted)).status).toBe(status);
  });

  test('only an admin adds and removes others', async () => {
    await ada.ask('PUT', '/repos/ada/engine/collaborators/cleo', { permission: 'push' });
    for (const method of ['PUT', 'DELETE']) {
      const answer = await cleo.ask(method, '/repos/ada/engine/collaborators/bob');
      expect(answer.status).toBe(403);
      expect(answer.body).toMatchObject({ code: 'forbidden' });
      const outside = await bob.ask(method, '/repos/ada/secret/collaborators/bob');
      expect(outside).toMatchObject({ status: 404, body: NOT_FOUND });
    }
    expect((await cleo.ask('DELETE', '/repos/ada/engine/collaborators/cleo')).status).toBe(204);
  });
});

describe('losing access', () => {
  async function waitingMail(repository: string, login: string) {
    const { rows } = await api.pool.query(
      `SELECT j.status, j.last_error FROM delivery_job j JOIN repository r ON r.id = j.repository_id
       JOIN account a ON a.id = j.account_id WHERE r.name = $1 AND a.login = $2`,
      [repository, login],
    );
    return rows;
  }

  async function commentToWatcher(repository: string, watcher: Person): Promise<void> {
    await ada.ask('PUT', `/repos/ada/${repository}/collaborators/${watcher.login}`);
    await watcher.ask('PUT', `/repos/ada/${repository}/subscription`, { subscribed: true });
    await ada.ask('POST', `/repos/ada/${repository}/threads`, { title: 'News' });
    await waitUntil(async () => (await waitingMail(repository, watcher.login)).length > 0, {
      what: `mail to ${watcher.login}`,
    });
  }

  test('a member removed from a private repository gets none of the waiting mail', async () => {
    const eve = await api.addPerson('eve');
    await commentToWatcher('secret', eve);
    expect((await ada.ask('DELETE', '/repos/ada/secret/collaborators/eve')).status).toBe(204);
    expect(await waitingMail('secret', 'eve')).toEqual([
      { status: 'cancelled', last_error: 'access_lost' },
    ]);
    expect(await eve.ask('GET', '/repos/ada/secret')).toMatchObject({
      status: 404,
      body: NOT_FOUND,
    });
    expect((await api.eventsOf('member.removed')).at(-1)).toMatchObject({
      member: { login: 'eve' },
    });
  });

  test('a member removed from a public repository keeps theirs, as anybody may read it', async () => {
    const fay = await api.addPerson('fay');
    await commentToWatcher('engine', fay);
    await ada.ask('DELETE', '/repos/ada/engine/collaborators/fay');
    expect(await waitingMail('engine', 'fay')).toMatchObject([{ status: 'pending' }]);
  });

  test('a removal waits for whoever holds the repository for fan-out', async () => {
    await api.addPerson('gil');
    await ada.ask('PUT', '/repos/ada/secret/collaborators/gil');
    const page = await api.pool.connect();
    await page.query('BEGIN');
    await page.query(`SELECT FROM repository WHERE name = 'secret' FOR SHARE`);
    let ended = false;
    const removal = ada.ask('DELETE', '/repos/ada/secret/collaborators/gil').finally(() => {
      ended = true;
    });
    await api.waitUntilBlocked();
    expect(ended).toBe(false);
    await page.query('COMMIT');
    page.release();
    expect((await removal).status).toBe(204);
  });
});

describe('watching', () => {
  const WATCH = '/repos/ada/engine/subscription';

  test('a person watches, ignores and forgets a repository', async () => {
    expect((await bob.ask('GET', WATCH)).status).toBe(404);
    expect(await bob.ask('PUT', WATCH)).toMatchObject({
      status: 200,
      body: {
        subscribed: true,
        ignored: false,
        reason: null,
        url: 'https://ghost.example/api/repos/ada/engine/subscription',
        repository_url: 'https://ghost.example/api/repos/ada/engine',
      },
    });
    const ignoring = await bob.ask('PUT', WATCH, { ignored: true });
    expect(ignoring.body).toMatchObject({ subscribed: false, ignored: true });
    expect((await bob.ask('GET', WATCH)).body).toEqual(ignoring.body);
    const neither = await bob.ask('PUT', WATCH, { subscribed: false });
    expect(neither.body).toMatchObject({ subscribed: false, ignored: false });
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

test.each([
  ['GET', ''],
  ['GET', '/subscription'],
  ['PUT', '/subscription'],
  ['DELETE', '/subscription'],
  ['PUT', '/collaborators/ada'],
  ['DELETE', '/collaborators/ada'],
])('%s of a private repository%s is the same 404 as of none', async (method, path) => {
  const hidden = await bob.ask(method, `/repos/ada/secret${path}`);
  const absent = await bob.ask(method, `/repos/ada/nothing${path}`);
  expect(hidden).toMatchObject({ status: 404, body: NOT_FOUND });
  expect(absent).toMatchObject({ status: 404, body: NOT_FOUND });
});
