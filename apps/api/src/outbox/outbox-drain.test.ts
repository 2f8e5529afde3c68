import { type Sql, sqlOfPool } from '@ghost/queue';
import { pino } from 'pino';
import { expect, test } from 'vitest';

import { FanoutWorld } from '../../../../test/support/fanout-world.js';
import { OutboxDrain } from './outbox-drain.js';
import { OutboxProgress } from './outbox-progress.js';

const RETRY_BASE_MS = 60_000;

test('an outcome that cannot be written ends the drain with an error, and the next one begins anew', async () => {
  const world = await FanoutWorld.create();
  try {
    const event = await world.publishComment(await world.place());
    const inner = sqlOfPool(world.pool);
    let broken = true;
    const sql: Sql = {
      query: (text, values) =>
        broken && text.includes('SET lease_until = NULL, last_error')
          ? Promise.reject(new Error('no answer'))
          : inner.query(text, values),
    };
    const drain = new OutboxDrain({
      progress: new OutboxProgress(sql, RETRY_BASE_MS),
      dispatch: () => Promise.resolve({ state: 'failed', error: new Error('no page') }),
      delivery: { wake: () => undefined },
      logger: pino({ level: 'silent' }),
    });
    await expect(drain.drain()).rejects.toThrow('The outcome of a page could not be written');
    broken = false;
    await world.pool.query(`UPDATE outbox_progress SET lease_until = now() - interval '1 second'`);
    await drain.drain();
    expect(await world.progressOf(event)).toMatchObject({
      notifier: { lastError: 'Error: no page', leased: false },
      'webhook-fanout': { lastError: 'Error: no page', leased: false },
    });
  } finally {
    await world.stop();
  }
});
