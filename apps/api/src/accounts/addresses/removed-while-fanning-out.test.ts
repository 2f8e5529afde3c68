import { createPostgresQueue } from '@ghost/queue';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { gate } from '../../../../../test/support/gate.js';
import { startTestApi, type TestApi } from '../../../../../test/support/test-api.js';
import { waitUntil } from '../../../../../test/support/wait-until.js';
import { NotifierService } from '../../notifier/notifier.service.js';

let testApi: TestApi;
/** Stops the notifier once it has chosen a thread's readers and their addresses, before its page commits. */
let stop: { chosen: () => void; mayCommit: Promise<unknown> } | null = null;

beforeAll(async () => {
  testApi = await startTestApi({
    instrument: (instance) => {
      if (instance instanceof NotifierService) {
        const page = instance.page.bind(instance);
        instance.page = async (tx, event, cursor) => {
          const result = await page(tx, event, cursor);
          // Events of the accounts and of the repository may come late: theirs are not the page meant.
          if (event.type === 'thread.opened') {
            stop?.chosen();
            await stop?.mayCommit;
          }
          return result;
        };
      }
      return instance;
    },
  });
});
afterAll(() => testApi.stop());

test('an address that is removed while a page with its mail is open gets no mail', async () => {
  const ada = await testApi.addPerson('ada');
  const cleo = await testApi.addPerson('cleo');
  const queue = createPostgresQueue({ pool: testApi.pool });
  await ada.ask('POST', '/user/repos', { name: 'demo', private: true });
  await ada.ask('PUT', '/repos/ada/demo/collaborators/cleo', { permission: 'pull' });
  await cleo.ask('PUT', '/repos/ada/demo/subscription', { subscribed: true });
  const former = (await cleo.ask('GET', '/user/emails')).body[0].email;
  await testApi.pool.query(
    `INSERT INTO email_address (account_id, address, verified_at) VALUES ($1, 'new@cleo.example', now())`,
    [cleo.id],
  );

  const [chosen, mayCommit] = [gate(), gate()];
  stop = { chosen: () => chosen.open(), mayCommit: mayCommit.opened };
  await ada.ask('POST', '/repos/ada/demo/threads', { title: 'Secret' });
  await chosen.opened;
  const moved = await cleo.ask('PATCH', '/user/emails/primary', { email: 'new@cleo.example' });
  expect(moved.status).toBe(200);
  // Nobody waits for the page: a thread with many readers would keep all of them from their own addresses.
  expect((await cleo.ask('DELETE', '/user/emails', { emails: [former] })).status).toBe(204);
  stop = null;
  mayCommit.open();

  const mine = async () => {
    const { jobs } = await queue.claim({ kind: 'email', version: 1, jobs: 100, lanes: 100 });
    return jobs.find(({ accountId }) => accountId === cleo.id);
  };
  let job = await mine();
  await waitUntil(async () => (job ??= await mine()) !== undefined, { what: 'the mail' });
  expect(job?.job).toMatchObject({ message: { to: { address: former } } });
  expect(job && (await queue.confirm(job))).toBe('address_removed');
});
