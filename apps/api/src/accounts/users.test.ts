import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { PUBLIC_URL, startTestApi, type TestApi } from '../../../../test/support/test-api.js';
import { privateUserAnswer, publicUserAnswer } from './user-view.js';

let testApi: TestApi;

beforeAll(async () => {
  testApi = await startTestApi();
});
afterAll(() => testApi.stop());

const asNobody = async (path: string) => {
  const response = await fetch(`${testApi.url}/api${path}`);
  return { status: response.status, body: await response.json() };
};

describe('one’s own account', () => {
  test('is GitHub’s private user, with the repositories counted', async () => {
    const ann = await testApi.addPerson('Ann');
    for (const [name, hidden] of [
      ['a', true],
      ['b', true],
      ['c', false],
    ]) {
      const made = await ann.ask('POST', '/user/repos', { name, private: hidden });
      expect(made.status).toBe(201);
    }
    const { status, body } = await ann.ask('GET', '/user');
    expect(status).toBe(200);
    expect(privateUserAnswer.strict().parse(body)).toEqual(body);
    expect(body).toMatchObject({
      login: 'Ann',
      id: ann.id,
      user_view_type: 'private',
      url: `${PUBLIC_URL}/api/users/Ann`,
      html_url: `${PUBLIC_URL}/Ann`,
      site_admin: false,
      email: null,
      public_repos: 1,
      total_private_repos: 2,
      owned_private_repos: 2,
    });
  });

  test('needs a token, of whatever scope', async () => {
    expect(await asNobody('/user')).toMatchObject({
      status: 401,
      body: { code: 'requires_authentication' },
    });
  });
});

describe('somebody’s account', () => {
  test('is GitHub’s public user, for anybody and whatever the case, and tells no address nor what is private', async () => {
    const ben = await testApi.addPerson('Ben');
    await ben.ask('POST', '/user/repos', { name: 'hidden', private: true });
    const { status, body } = await asNobody('/users/bEN');
    expect(status).toBe(200);
    expect(publicUserAnswer.strict().parse(body)).toEqual(body);
    expect(body).toMatchObject({ login: 'Ben', user_view_type: 'public', public_repos: 0 });
    expect(JSON.stringify(body)).not.toContain('people.example');
    expect((await ben.ask('GET', '/users/ben')).body).toEqual(body);
  });

  test('does not say who is an operator', async () => {
    const cyd = await testApi.addPerson('cyd');
    await testApi.pool.query('UPDATE account SET is_admin = true WHERE id = $1', [cyd.id]);
    expect((await asNobody('/users/cyd')).body).toMatchObject({ site_admin: false });
    expect((await cyd.ask('GET', '/user')).body).toMatchObject({ site_admin: true });
  });

  test.each(['nobody', '%00', 'a_b', '-'.repeat(40)])(
    'that is not there is a 404: %s',
    async (who) => {
      expect(await asNobody(`/users/${who}`)).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      });
    },
  );
});
