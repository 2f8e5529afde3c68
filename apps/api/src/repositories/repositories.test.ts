import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type Person, startTestApi, type TestApi } from '../../../../test/support/test-api.js';

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

const NOT_FOUND = { message: 'Not Found', code: 'not_found' };

/** Asks with headers of one's own; without a person, without a token. */
async function send(person: Person | null, method: string, path: string, rest: RequestInit = {}) {
  const headers = new Headers(rest.headers);
  if (person !== null) headers.set('authorization', `Bearer ${person.token}`);
  if (rest.body !== undefined) headers.set('content-type', 'application/json');
  return fetch(`${api.url}/api${path}`, { ...rest, method, headers });
}

async function auditOf(repository: string) {
  const { rows } = await api.pool.query(
    `SELECT action, actor, token_id IS NOT NULL AS by_token, subject, detail FROM audit_entry
     WHERE repository = $1 ORDER BY id`,
    [repository],
  );
  return rows;
}

describe('making repositories', () => {
  test('a repository is answered in the usual shape, and its owner watches it', async () => {
    const { status, body } = await bob.ask('POST', '/user/repos', {
      name: 'Tools.js',
      private: false,
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
      clone_url: 'https://ghost.example/bob/Tools.js.git',
      ssh_url: 'git@ghost.example:bob/Tools.js.git',
      hooks_url: 'https://ghost.example/api/repos/bob/Tools.js/hooks',
      collaborators_url:
        'https://ghost.example/api/repos/bob/Tools.js/collaborators{/collaborator}',
      stargazers_count: 0,
      license: null,
      permissions: { admin: true, maintain: true, push: true, triage: true, pull: true },
    });
    const watch = await bob.ask('GET', '/repos/bob/tools.js/subscription');
    expect(watch.body).toMatchObject({ subscribed: true, ignored: false });
    const seen = await ada.ask('GET', '/repos/BOB/TOOLS.JS');
    expect(seen.body).toMatchObject({
      full_name: 'bob/Tools.js',
      permissions: { admin: false, push: false, pull: true },
    });
    expect(await auditOf('bob/Tools.js')).toEqual([
      {
        action: 'repository.created',
        actor: 'bob',
        by_token: true,
        subject: null,
        detail: { after: 'public' },
      },
    ]);
  });

  test.each([
    ['nothing', {}, true],
    ['private: true', { private: true }, true],
    ['private: false', { private: false }, false],
    ['visibility: "private"', { visibility: 'private' }, true],
    ['visibility: "public"', { visibility: 'public' }, false],
    ['both, agreeing', { private: false, visibility: 'public' }, false],
  ])('%s makes private: %j', async (name, wanted, hidden) => {
    const made = await ada.ask('POST', '/user/repos', {
      name: name.replace(/[^a-z]+/gu, '-'),
      ...wanted,
    });
    expect(made.body).toMatchObject({
      private: hidden,
      visibility: hidden ? 'private' : 'public',
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
    ['an unknown field', { name: 'a', colour: 'red' }, 'colour', 'unknown_field'],
    ['"internal"', { name: 'a', visibility: 'internal' }, 'visibility', 'invalid'],
    [
      'a contradiction',
      { name: 'a', private: true, visibility: 'public' },
      'visibility',
      'invalid',
    ],
  ])('%s is a 422 that names the field', async (_name, wanted, field, code) => {
    const { status, body } = await ada.ask('POST', '/user/repos', wanted);
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ field, code }]);
  });
});

describe('reading a repository', () => {
  test('what is public is read without an account', async () => {
    const answer = await send(null, 'GET', '/repos/ada/engine');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      full_name: 'ada/engine',
      permissions: { admin: false, push: false, pull: true },
    });
  });

  test('what is private is to strangers and without an account as if it were not there', async () => {
    await ada.ask('POST', '/user/repos', { name: 'hidden' });
    for (const asker of [null, bob]) {
      const hidden = await send(asker, 'GET', '/repos/ada/hidden');
      expect({ status: hidden.status, body: await hidden.json() }).toEqual({
        status: 404,
        body: NOT_FOUND,
      });
    }
  });
});

describe('editing a repository', () => {
  test('what is named changes, what is not stays', async () => {
    await ada.ask('POST', '/user/repos', { name: 'edited', description: 'One' });
    const first = await ada.ask('PATCH', '/repos/ada/edited', { description: 'Two' });
    expect(first).toMatchObject({ status: 200, body: { description: 'Two', private: true } });
    const second = await ada.ask('PATCH', '/repos/ada/edited', { visibility: 'public' });
    expect(second.body).toMatchObject({ description: 'Two', private: false });
    const third = await ada.ask('PATCH', '/repos/ada/edited', {
      name: 'edited',
      description: null,
      has_wiki: true,
    });
    expect(third.body).toMatchObject({ description: null, private: false });
    expect((await ada.ask('GET', '/repos/ada/edited')).body).toEqual(third.body);
    expect(await auditOf('ada/edited')).toMatchObject([
      { action: 'repository.created' },
      {
        action: 'repository.visibility_changed',
        actor: 'ada',
        detail: { before: 'private', after: 'public' },
      },
    ]);
  });

  test('a change of nothing changes nothing', async () => {
    await ada.ask('POST', '/user/repos', { name: 'still' });
    const before = await ada.ask('GET', '/repos/ada/still');
    const edited = await ada.ask('PATCH', '/repos/ada/still', { private: true });
    expect(edited.body).toEqual(before.body);
    expect(edited.headers.get('etag')).toBe(before.headers.get('etag'));
    expect(await auditOf('ada/still')).toHaveLength(1);
  });

  test.each([
    ['another name', { name: 'motor' }, 'name', 'not_offered'],
    ['another case of its name', { name: 'Engine' }, 'name', 'not_offered'],
    ['archiving', { archived: true }, 'archived', 'invalid'],
    ['a contradiction', { private: false, visibility: 'private' }, 'visibility', 'invalid'],
    ['an unknown field', { homepages: '' }, 'homepages', 'unknown_field'],
    ['a long description', { description: 'a'.repeat(351) }, 'description', 'too_long'],
  ])('%s is a 422 that names the field', async (_name, wanted, field, code) => {
    const { status, body } = await ada.ask('PATCH', '/repos/ada/engine', wanted);
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ field, code }]);
  });

  test('only an admin edits', async () => {
    await ada.ask('PUT', '/repos/ada/engine/collaborators/cleo', { permission: 'push' });
    for (const person of [bob, cleo]) {
      const answer = await person.ask('PATCH', '/repos/ada/engine', { description: 'Mine' });
      expect(answer).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    }
    await ada.ask('PUT', '/repos/ada/engine/collaborators/cleo', { permission: 'admin' });
    const edited = await cleo.ask('PATCH', '/repos/ada/engine', { description: 'Ours' });
    expect(edited).toMatchObject({ status: 200, body: { description: 'Ours' } });
  });

  test('who may read it changes only by a token that may change access', async () => {
    const dan = await api.addPerson('dan');
    await api.pool.query(`UPDATE api_token SET scopes = '{repo}' WHERE account_id = $1`, [dan.id]);
    await dan.ask('POST', '/user/repos', { name: 'own' });
    const shown = await dan.ask('PATCH', '/repos/dan/own', { private: false });
    expect(shown).toMatchObject({ status: 403, body: { code: 'missing_scope' } });
    const described = await dan.ask('PATCH', '/repos/dan/own', {
      private: true,
      description: 'Kept private',
    });
    expect(described).toMatchObject({ status: 200, body: { private: true } });
  });

  test('If-Match of an older reading is a 412, and changes nothing', async () => {
    await ada.ask('POST', '/user/repos', { name: 'matched' });
    const path = '/repos/ada/matched';
    const tag = (await send(ada, 'GET', path)).headers.get('etag') ?? '';
    const edit = (description: string) =>
      send(ada, 'PATCH', path, {
        headers: { 'if-match': tag },
        body: JSON.stringify({ description }),
      });
    expect((await edit('First')).status).toBe(200);
    expect((await edit('Second')).status).toBe(412);
    expect((await ada.ask('GET', path)).body.description).toBe('First');
    const removal = { headers: { 'if-match': tag } };
    expect((await send(ada, 'DELETE', path, removal)).status).toBe(412);
    const now = (await send(ada, 'GET', path)).headers.get('etag') ?? '';
    expect((await send(ada, 'DELETE', path, { headers: { 'if-match': now } })).status).toBe(204);
  });
});

describe('deleting a repository', () => {
  test('it is gone with all that was in it, and its name is free', async () => {
    const path = '/repos/ada/doomed';
    await ada.ask('POST', '/user/repos', { name: 'doomed' });
    await ada.ask('PUT', `${path}/collaborators/bob`);
    await ada.ask('POST', `${path}/threads`, { title: 'Last words' });
    await bob.ask('POST', `${path}/threads/1/comments`, { body: 'Farewell' });
    expect(await ada.ask('DELETE', path)).toMatchObject({ status: 204, body: undefined });
    for (const person of [ada, bob]) {
      expect(await person.ask('GET', path)).toMatchObject({ status: 404, body: NOT_FOUND });
    }
    expect((await ada.ask('DELETE', path)).status).toBe(404);
    expect((await auditOf('ada/doomed')).at(-1)).toMatchObject({
      action: 'repository.deleted',
      actor: 'ada',
      detail: { before: 'private' },
    });
    expect((await ada.ask('POST', '/user/repos', { name: 'doomed' })).status).toBe(201);
    expect((await ada.ask('GET', `${path}/threads/1`)).status).toBe(404);
  });

  test('only an admin deletes', async () => {
    await ada.ask('PUT', '/repos/ada/engine/collaborators/cleo', { permission: 'push' });
    expect((await cleo.ask('DELETE', '/repos/ada/engine')).status).toBe(403);
    expect((await bob.ask('DELETE', '/repos/ada/engine')).status).toBe(403);
    expect((await send(null, 'DELETE', '/repos/ada/engine')).status).toBe(401);
  });
});
