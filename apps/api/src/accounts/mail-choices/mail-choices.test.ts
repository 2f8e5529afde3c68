import { afterAll, beforeAll, expect, test } from 'vitest';

import { startTestApi, type TestApi } from '../../../../../test/support/test-api.js';

const BY_DEFAULT = { watching: true, participating: true, own_actions: false };

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.stop());

test('what mail somebody wants is as by default until they choose, each by itself', async () => {
  const ada = await api.addPerson('ada');
  const cleo = await api.addPerson('cleo');
  const choices = async () => (await ada.ask('GET', '/user/mail-choices')).body;
  expect(await choices()).toEqual(BY_DEFAULT);
  const edited = await ada.ask('PATCH', '/user/mail-choices', { watching: false });
  expect(edited).toMatchObject({ status: 200, body: { ...BY_DEFAULT, watching: false } });
  await ada.ask('PATCH', '/user/mail-choices', { own_actions: true });
  expect(await choices()).toEqual({ watching: false, participating: true, own_actions: true });
  await ada.ask('PATCH', '/user/mail-choices', {});
  expect(await choices()).toEqual({ watching: false, participating: true, own_actions: true });
  expect((await cleo.ask('GET', '/user/mail-choices')).body).toEqual(BY_DEFAULT);
});

test('a choice that there is not is a 422', async () => {
  const ben = await api.addPerson('ben');
  const refused = await ben.ask('PATCH', '/user/mail-choices', { watching: 'no', mentions: false });
  expect(refused.status).toBe(422);
  expect(JSON.stringify(refused.body.errors)).toMatch(/watching.*mentions|mentions.*watching/u);
  expect((await ben.ask('GET', '/user/mail-choices')).body).toEqual(BY_DEFAULT);
});
