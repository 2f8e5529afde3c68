import { schema } from '@ghost/db';
import { sqlOf } from '@ghost/queue';
import { and, eq } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { FanoutWorld, type Place } from '../../../../test/support/fanout-world.js';
import { gate } from '../../../../test/support/gate.js';
import { untilBlocked } from '../../../../test/support/until-blocked.js';
import type { FanoutConsumer } from '../outbox/fanout-consumer.js';

let world: FanoutWorld;
let place: Place;
let member: number;

beforeEach(async () => {
  world = await FanoutWorld.create();
  place = await world.place({ private: true });
  member = await world.account();
  await world.member(place, member);
  await world.watch(place, member);
});
afterEach(() => world.stop());

/** What a removal does: the lock, the end of the membership, the end of waiting mail. */
async function removeMember(beforeCommit: () => Promise<void> = () => Promise.resolve()) {
  await world.db.transaction(async (tx) => {
    await tx
      .select({ id: schema.repository.id })
      .from(schema.repository)
      .where(eq(schema.repository.id, place.repositoryId))
      .for('update');
    const key = { repositoryId: place.repositoryId, accountId: member };
    await tx
      .delete(schema.member)
      .where(
        and(
          eq(schema.member.repositoryId, key.repositoryId),
          eq(schema.member.accountId, key.accountId),
        ),
      );
    await world.queue.cancel(sqlOf(tx), key, 'access_lost');
    await beforeCommit();
  });
}

async function mailOf(event: string): Promise<string[]> {
  const { rows } = await world.pool.query<{ status: string }>(
    `SELECT status FROM delivery_job WHERE event_id = $1 AND account_id = $2`,
    [event, member],
  );
  return rows.map((row) => row.status);
}

describe('a member who is removed gets no mail', () => {
  test('when a page of fan-out that saw the member is open: the removal waits, and cancels', async () => {
    const seen = gate();
    const commit = gate();
    const open: FanoutConsumer = {
      page: async (tx, event, cursor) => {
        const page = await world.notifier.page(tx, event, cursor);
        seen.open();
        await commit.opened;
        return page;
      },
    };
    await world.startOutbox({ notifier: open });
    const event = await world.publishComment(place);
    await seen.opened;
    let removed = false;
    const removal = removeMember().then(() => {
      removed = true;
    });
    await untilBlocked(world.pool);
    expect(removed).toBe(false);
    commit.open();
    await removal;
    await world.untilProcessed(event);
    expect(await mailOf(event)).toEqual(['cancelled']);
  });

  test('when the removal is open: the page waits, and sees no member', async () => {
    const removing = gate();
    const commit = gate();
    const removal = removeMember(async () => {
      removing.open();
      await commit.opened;
    });
    await removing.opened;
    const event = await world.publishComment(place);
    await world.startOutbox();
    await untilBlocked(world.pool);
    expect(await mailOf(event)).toEqual([]);
    commit.open();
    await removal;
    await world.untilProcessed(event);
    expect(await mailOf(event)).toEqual([]);
    expect(await world.skipsOf(event)).toMatchObject({ [`account:${member}`]: 'no_access' });
  });

  test('when the repository is made private while a page waits', async () => {
    await world.pool.query('UPDATE repository SET private = false');
    await world.pool.query('DELETE FROM member');
    const holder = await world.pool.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM repository FOR UPDATE');
    await holder.query('UPDATE repository SET private = true');
    const event = await world.publishComment(place);
    await world.startOutbox();
    await untilBlocked(world.pool);
    await holder.query('COMMIT');
    holder.release();
    await world.untilProcessed(event);
    expect(await mailOf(event)).toEqual([]);
    expect(await world.skipsOf(event)).toMatchObject({ [`account:${member}`]: 'no_access' });
  });
});
