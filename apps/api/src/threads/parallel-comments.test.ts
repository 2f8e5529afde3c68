import { afterAll, beforeAll, expect, test } from 'vitest';

import { type ApiClient, apiClient } from '../../../../test/support/api-client.js';
import { postInParallel } from '../../../../test/support/parallel-comments.js';
import { startTestApi, type TestApi } from '../../../../test/support/test-api.js';

const ACCOUNTS = 8;
const COMMENTS_EACH = 5;

let api: TestApi;
const clients: ApiClient[] = [];

beforeAll(async () => {
  api = await startTestApi();
  for (let n = 0; n < ACCOUNTS; n += 1) {
    const { token } = await api.addPerson(`person-${n}`);
    clients.push(apiClient(api.url, token));
  }
  await clients[0]?.expect(201, 'POST', '/user/repos', { name: 'busy', private: false });
});
afterAll(() => api.stop());

test.each([false, true])(
  'comments posted at once are all there, numbered without gaps or repeats (burst: %s)',
  async (burst) => {
    const threads = '/repos/person-0/busy/threads';
    const opened = await clients[0]?.expect<{ number: number }>(201, 'POST', threads, {
      title: 'All at once',
    });
    const thread = `${threads}/${opened?.number}`;
    const { numbers, listed, lost } = await postInParallel(clients, thread, COMMENTS_EACH, burst);
    const all = Array.from({ length: ACCOUNTS * COMMENTS_EACH }, (_, n) => n + 1);
    expect(lost).toEqual([]);
    expect(numbers).toEqual(all);
    expect(listed).toEqual(all);
  },
);

test('a number that was taken by a comment that does not commit is given to the next', async () => {
  const threads = '/repos/person-0/busy/threads';
  const [poster] = clients;
  if (poster === undefined) throw new Error('There are no accounts');
  const { number } = await poster.expect<{ number: number }>(201, 'POST', threads, {
    title: 'A gap',
  });
  const comments = `${threads}/${number}/comments`;
  await api.pool.query(
    `ALTER TABLE outbox_event ADD CONSTRAINT planted CHECK (payload -> 'comment' ->> 'body' <> 'planted') NOT VALID`,
  );
  const post = (body: string) => poster.send('POST', comments, { body });
  const answers = [await post('one'), await post('planted'), await post('two')];
  await api.pool.query('ALTER TABLE outbox_event DROP CONSTRAINT planted');
  expect(answers).toMatchObject([
    { status: 201, body: { number: 1 } },
    { status: 500 },
    { status: 201, body: { number: 2 } },
  ]);
});
