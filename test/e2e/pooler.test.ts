import { hookLane } from '@ghost/queue';
import { expect, onTestFinished, test } from 'vitest';

import { gate } from '../support/gate.js';
import { holdRow } from '../support/hold-row.js';
import type { ApiClient } from '../support/api-client.js';
import { HAS_PG_BOUNCER, startPgBouncer } from '../support/pg-bouncer.js';
import { startGhost } from '../support/running-ghost.js';
import { waitUntil } from '../support/wait-until.js';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.js';

const COMMENTS = 20;
/** Well below the time after which a statement of delivery fails as an outage. */
const SOON_MS = 5_000;

test.skipIf(!HAS_PG_BOUNCER)(
  'behind PgBouncer in transaction mode comments become webhooks and mails, and a lane that somebody holds holds up no other',
  async () => {
    const ghost = await startGhost({}, startPgBouncer);
    let mayAnswer: Promise<unknown> = Promise.resolve();
    const late = await startReceiver(() => mayAnswer.then(() => 200));
    const prompt = await startReceiver();
    for (const endpoint of [late, prompt]) onTestFinished(() => endpoint.stop());
    const [ada, bob] = [await ghost.person('ada'), await ghost.person('bob')];
    await ada.expect(201, 'POST', '/user/repos', { name: 'demo', private: false });
    await ada.expect(201, 'POST', '/repos/ada/demo/threads', { title: 'A thread', body: 'Start' });
    const [slow, quick] = [await addHook(ada, late.url), await addHook(ada, prompt.url)];
    const bodies = Array.from({ length: COMMENTS }, (_, index) => `Comment ${index}`);
    const comment = (body: string) =>
      bob.expect(201, 'POST', '/repos/ada/demo/threads/1/comments', { body });
    await Promise.all(bodies.map(comment));
    await ghost.settled();
    for (const endpoint of [late, prompt]) expect(comments(endpoint)).toHaveLength(COMMENTS);
    await ghost.mails.waitForMails(COMMENTS);

    const answer = gate();
    mayAnswer = answer.opened;
    const [before, beforeQuick] = [late.requests().length, prompt.requests().length];
    await ada.expect(204, 'POST', `/repos/ada/demo/hooks/${slow}/pings`);
    await late.waitForRequests(before + 1);
    const release = await holdRow(ghost.pool, 'delivery_lane', 'lane', hookLane(slow));
    onTestFinished(release);
    answer.open();
    await ada.expect(204, 'POST', `/repos/ada/demo/hooks/${quick}/pings`);
    await prompt.waitForRequests(beforeQuick + 1);
    const open = async (hook: number) => {
      const { rows } = await ghost.pool.query(
        `SELECT FROM delivery_job WHERE hook_id = $1 AND status = 'pending'`,
        [hook],
      );
      return rows.length;
    };
    await waitUntil(async () => (await open(quick)) === 0, {
      what: 'what goes to the other lane',
      timeoutMs: SOON_MS,
    });
    expect(await open(slow)).toBe(1);
    await release();
    await ghost.settled();
    expect(late.requests()).toHaveLength(before + 1);
  },
);

async function addHook(owner: ApiClient, url: string): Promise<number> {
  const { id } = await owner.expect<{ id: number }>(201, 'POST', '/repos/ada/demo/hooks', {
    config: { url },
    events: ['comment.created'],
  });
  return id;
}

function comments(endpoint: WebhookReceiver) {
  return endpoint
    .requests()
    .filter(({ headers }) => headers['x-ghost-event'] === 'comment.created');
}
