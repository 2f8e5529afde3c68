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

const NOT_FOUND = { message: 'Not Found', code: 'not_found' };
const logins = (answer: Answer): string[] =>
  answer.body.map((person: { login: string }) => person.login);

describe('adding', () => {
  test.each([
    [undefined, { admin: false, maintain: false, push: true, triage: true }],
    [{ permission: 'pull' }, { admin: false, push: false, triage: false }],
    [{ permission: 'write' }, { admin: false, push: true }],
    [{ permission: 'admin' }, { admin: true, maintain: true, push: true }],
    [{ permission: 'read' }, { admin: false, push: false }],
  ])('a member with %j may do as much', async (wanted, permissions) => {
    const { status, body } = await ada.ask('PUT', '/repos/ada/secret/collaborators/CLEO', wanted);
    expect({ status, body }).toEqual({ status: 204, body: undefined });
    const seen = await cleo.ask('GET', '/repos/ada/secret');
    expect(seen.body.permissions).toMatchObject(permissions);
  });

  test('only the first addition and the removal are events; each change is in the audit', async () => {
    const dan = await api.addPerson('dan');
    const path = '/repos/ada/engine/collaborators/dan';
    await ada.ask('PUT', path, { permission: 'push' });
    await ada.ask('PUT', path, { permission: 'admin' });
    await ada.ask('PUT', path, { permission: 'admin' });
    await dan.ask('DELETE', path);
    expect((await ada.ask('DELETE', path)).status).toBe(204);
    const toMember = (payload: { member: { login: string } }) => payload.member.login === 'dan';
    const added = (await api.eventsOf('member.added')).filter(toMember);
    const removed = (await api.eventsOf('member.removed')).filter(toMember);
    expect(added).toMatchObject([{ sender: { login: 'ada' }, repository: { name: 'engine' } }]);
    expect(removed).toMatchObject([{ sender: { login: 'dan' }, member: { id: dan.id } }]);
    const { rows } = await api.pool.query(
      `SELECT action, actor, repository, detail FROM audit_entry WHERE subject = 'dan' AND action LIKE 'member.%' ORDER BY id`,
    );
    const repository = 'ada/engine';
    expect(rows).toEqual([
      {
        action: 'member.added',
        actor: 'ada',
        repository,
        detail: { before: null, after: 'write' },
      },
      {
        action: 'member.changed',
        actor: 'ada',
        repository,
        detail: { before: 'write', after: 'admin' },
      },
      {
        action: 'member.removed',
        actor: 'dan',
        repository,
        detail: { before: 'admin', after: null },
      },
    ]);
  });

  test.each([
    ['the owner', '/repos/ada/engine/collaborators/ada', undefined, 422],
    ['nobody', '/repos/ada/engine/collaborators/nobody', undefined, 404],
    ['no possible login', '/repos/ada/engine/collaborators/a%00b', undefined, 404],
    ['an unknown permission', '/repos/ada/engine/collaborators/bob', { permission: 'root' }, 422],
  ])('%s cannot be added', async (_name, path, wanted, status) => {
    expect((await ada.ask('PUT', path, wanted)).status).toBe(status);
  });

  test.each(['triage', 'maintain'])('%s is a 422 that says it is not offered', async (name) => {
    const answer = await ada.ask('PUT', '/repos/ada/engine/collaborators/bob', {
      permission: name,
    });
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toMatchObject([
      { field: 'permission', message: expect.stringContaining(`"${name}" is not offered`) },
    ]);
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
    expect((await ada.ask('DELETE', '/repos/ada/engine/collaborators/ada')).status).toBe(422);
    expect((await cleo.ask('DELETE', '/repos/ada/engine/collaborators/cleo')).status).toBe(204);
  });

  test('an admin who is removed meanwhile adds nobody', async () => {
    await ada.ask('PUT', '/repos/ada/secret/collaborators/cleo', { permission: 'admin' });
    const removal = await api.pool.connect();
    await removal.query('BEGIN');
    await removal.query(`SELECT FROM repository WHERE name = 'secret' FOR NO KEY UPDATE`);
    await removal.query('DELETE FROM member WHERE account_id = $1', [cleo.id]);
    const adding = cleo.ask('PUT', '/repos/ada/secret/collaborators/bob');
    await api.waitUntilBlocked();
    await removal.query('COMMIT');
    removal.release();
    expect(await adding).toMatchObject({ status: 404, body: NOT_FOUND });
    expect((await bob.ask('GET', '/repos/ada/secret')).status).toBe(404);
  });
});

describe('listing', () => {
  beforeAll(async () => {
    await ada.ask('POST', '/user/repos', { name: 'crew', private: true });
    for (const permission of ['pull', 'push', 'admin']) {
      await api.addPerson(`crew-${permission}`);
      await ada.ask('PUT', `/repos/ada/crew/collaborators/crew-${permission}`, { permission });
    }
    await ada.ask('PUT', '/repos/ada/crew/collaborators/bob', { permission: 'pull' });
    await ada.ask('PUT', '/repos/ada/crew/collaborators/cleo', { permission: 'push' });
  });

  test('the owner and the members are listed with what they may do', async () => {
    const answer = await cleo.ask('GET', '/repos/ada/crew/collaborators');
    expect(answer.status).toBe(200);
    expect(logins(answer)).toEqual(['ada', 'bob', 'cleo', 'crew-pull', 'crew-push', 'crew-admin']);
    expect(answer.body[0]).toMatchObject({
      id: ada.id,
      type: 'User',
      role_name: 'admin',
      permissions: { admin: true, maintain: true, push: true, triage: true, pull: true },
    });
    expect(answer.body[1]).toMatchObject({ role_name: 'read', permissions: { push: false } });
  });

  test('pages hold each once, wherever the owner comes', async () => {
    await bob.ask('POST', '/user/repos', { name: 'paged' });
    for (const login of ['ada', 'cleo', 'crew-pull']) {
      await bob.ask('PUT', `/repos/bob/paged/collaborators/${login}`);
    }
    const seen: string[] = [];
    let path: string | undefined = '/repos/bob/paged/collaborators?per_page=1';
    for (let page = 0; path !== undefined && page < 10; page += 1) {
      const answer: Answer = await bob.ask('GET', path);
      seen.push(...logins(answer));
      path = nextPage(answer);
    }
    expect(seen).toEqual(['ada', 'bob', 'cleo', 'crew-pull']);
  });

  test.each([
    ['affiliation=direct', ['ada', 'bob', 'cleo', 'crew-pull', 'crew-push', 'crew-admin']],
    ['affiliation=outside', ['bob', 'cleo', 'crew-pull', 'crew-push', 'crew-admin']],
    ['permission=push', ['ada', 'cleo', 'crew-push', 'crew-admin']],
    ['permission=admin&affiliation=outside', ['crew-admin']],
  ])('?%s lists those', async (query, expected) => {
    expect(logins(await ada.ask('GET', `/repos/ada/crew/collaborators?${query}`))).toEqual(
      expected,
    );
  });

  test('only who may write asks who the others are', async () => {
    for (const path of ['', '/ada', '/ada/permission']) {
      const reader = await bob.ask('GET', `/repos/ada/crew/collaborators${path}`);
      expect(reader).toMatchObject({ status: 403, body: { code: 'forbidden' } });
      const dora = await api.addPerson(`dora${path.replaceAll('/', '-')}`);
      const stranger = await dora.ask('GET', `/repos/ada/crew/collaborators${path}`);
      expect(stranger).toMatchObject({ status: 404, body: NOT_FOUND });
    }
  });

  test('somebody is a collaborator or is not', async () => {
    const path = '/repos/ada/crew/collaborators';
    await api.addPerson('zoe');
    expect((await cleo.ask('GET', `${path}/BOB`)).status).toBe(204);
    expect((await cleo.ask('GET', `${path}/ada`)).status).toBe(204);
    expect((await cleo.ask('GET', `${path}/zoe`)).status).toBe(404);
    expect((await cleo.ask('GET', `${path}/nobody`)).status).toBe(404);
  });

  test.each([
    ['crew', 'ada', 'admin'],
    ['crew', 'crew-pull', 'read'],
    ['crew', 'crew-push', 'write'],
    ['crew', 'eve', 'none'],
    ['engine', 'eve', 'read'],
  ])('in %s the permission of %s is %s', async (repository, login, permission) => {
    if (login === 'eve' && repository === 'crew') await api.addPerson('eve');
    const { status, body } = await ada.ask(
      'GET',
      `/repos/ada/${repository}/collaborators/${login}/permission`,
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({ permission, role_name: permission, user: { login } });
  });
});

test.each([
  ['GET', ''],
  ['PATCH', ''],
  ['DELETE', ''],
  ['GET', '/subscription'],
  ['PUT', '/subscription'],
  ['DELETE', '/subscription'],
  ['GET', '/subscribers'],
  ['GET', '/collaborators'],
  ['GET', '/collaborators/ada'],
  ['GET', '/collaborators/ada/permission'],
  ['PUT', '/collaborators/ada'],
  ['DELETE', '/collaborators/ada'],
])('%s of a private repository%s is the same 404 as of none', async (method, path) => {
  const zed = await api.addPerson(`zed${method}${path.replaceAll('/', '-')}`.toLowerCase());
  const hidden = await zed.ask(method, `/repos/ada/secret${path}`);
  const absent = await zed.ask(method, `/repos/ada/nothing${path}`);
  expect(hidden).toMatchObject({ status: 404, body: NOT_FOUND });
  expect(absent).toMatchObject({ status: 404, body: NOT_FOUND });
});
