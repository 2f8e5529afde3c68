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

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
  bob = await api.addPerson('bob');
  for (const [person, name, hidden] of [
    [ada, 'a-open', false],
    [bob, 'b-open', false],
    [ada, 'a-closed', true],
    [bob, 'b-closed', true],
    [ada, 'a-shared', true],
    [bob, 'b-shared', true],
  ] as const) {
    await person.ask('POST', '/user/repos', { name, private: hidden });
  }
  await ada.ask('PUT', '/repos/ada/a-shared/collaborators/bob', { permission: 'pull' });
  await bob.ask('PUT', '/repos/bob/b-shared/collaborators/ada', { permission: 'admin' });
  await bob.ask('PUT', '/repos/bob/b-open/collaborators/ada', { permission: 'push' });
});
afterAll(() => api.stop());

const names = (answer: Answer): string[] =>
  answer.body.map((repository: { name: string }) => repository.name);

describe("one's own repositories", () => {
  test('those owned and those shared, with what one may do there', async () => {
    const answer = await ada.ask('GET', '/user/repos');
    expect(names(answer)).toEqual(['a-open', 'b-open', 'a-closed', 'a-shared', 'b-shared']);
    expect(answer.body[1]).toMatchObject({
      owner: { login: 'bob' },
      permissions: { admin: false, push: true },
    });
    expect(answer.body[4]).toMatchObject({ private: true, permissions: { admin: true } });
  });

  test.each([
    ['visibility=public', ['a-open', 'b-open']],
    ['visibility=private', ['a-closed', 'a-shared', 'b-shared']],
    ['affiliation=owner', ['a-open', 'a-closed', 'a-shared']],
    ['affiliation=collaborator', ['b-open', 'b-shared']],
    ['affiliation=organization_member', []],
    ['affiliation=owner,collaborator&visibility=public', ['a-open', 'b-open']],
    ['type=owner', ['a-open', 'a-closed', 'a-shared']],
    ['type=member', ['b-open', 'b-shared']],
    ['type=private', ['a-closed', 'a-shared', 'b-shared']],
    ['type=public', ['a-open', 'b-open']],
    ['sort=created&direction=desc&per_page=2', ['b-shared', 'a-shared']],
    ['since=2999-01-01T00:00:00Z', []],
    ['before=2000-01-01T00:00:00Z', []],
    ['since=2000-01-01T00:00:00Z&type=owner', ['a-open', 'a-closed', 'a-shared']],
  ])('?%s lists those', async (query, expected) => {
    expect(names(await ada.ask('GET', `/user/repos?${query}`))).toEqual(expected);
  });

  test.each([
    ['type=all&visibility=public', 'type'],
    ['affiliation=friend', 'affiliation'],
    ['sort=full_name', 'sort'],
    ['since=yesterday', 'since'],
    ['page=2', 'page'],
    ['colour=red', 'colour'],
  ])('?%s is a 422 that names the field', async (query, field) => {
    const answer = await ada.ask('GET', `/user/repos?${query}`);
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toMatchObject([{ field }]);
  });

  test.each(['asc', 'desc'])('pages in order %s hold each once', async (direction) => {
    const seen: string[] = [];
    let path: string | undefined = `/user/repos?per_page=2&direction=${direction}`;
    for (let page = 0; path !== undefined && page < 10; page += 1) {
      const answer: Answer = await ada.ask('GET', path);
      seen.push(...names(answer));
      path = nextPage(answer);
    }
    const all = ['a-open', 'b-open', 'a-closed', 'a-shared', 'b-shared'];
    expect(seen).toEqual(direction === 'asc' ? all : all.reverse());
  });
});

describe("somebody's repositories", () => {
  test.each([
    ['bob', 'those that bob may read', '/users/ADA/repos', ['a-open', 'a-shared']],
    ['ada', 'all', '/users/ada/repos', ['a-open', 'a-closed', 'a-shared']],
    ['ada', 'those shared with bob', '/users/bob/repos?type=member', ['a-shared']],
    ['bob', 'those shared with ada', '/users/ada/repos?type=member', ['b-open', 'b-shared']],
    ['bob', 'both', '/users/ada/repos?type=all', ['a-open', 'b-open', 'a-shared', 'b-shared']],
  ])('%s sees %s', async (login, _what, path, expected) => {
    const person = login === 'ada' ? ada : bob;
    expect(names(await person.ask('GET', path))).toEqual(expected);
  });

  test('without an account one sees what is public', async () => {
    for (const [path, expected] of [
      ['/users/ada/repos', ['a-open']],
      ['/users/ada/repos?type=member', ['b-open']],
    ] as const) {
      const answer = await fetch(`${api.url}/api${path}`);
      expect(answer.status).toBe(200);
      const list = (await answer.json()) as { name: string }[];
      expect(list.map(({ name }) => name)).toEqual(expected);
    }
  });

  test('of nobody is a 404', async () => {
    expect((await ada.ask('GET', '/users/nobody/repos')).status).toBe(404);
  });
});
