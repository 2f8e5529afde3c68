import { createPostgresQueue } from '@ghost/queue';
import { holdLane, listLanes } from '@ghost/operations';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { createDeliverySeed, type DeliverySeed } from '../../../../test/support/delivery-seed.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import { REPOSITORIES } from '../demo/demo-people.js';
import { resumeHeld } from './resume-held.js';

let database: TestDatabase;
let seed: DeliverySeed;
beforeEach(async () => {
  database = await createTestDatabase();
  seed = await createDeliverySeed(database.url);
});
afterEach(async () => {
  await seed.close();
  await database.drop();
});

test('resumes what a 410 held of the demo’s own hooks, and says of all else how to, with why it is held', async () => {
  const [own, paused, mine] = [
    await seed.hook('http://127.0.0.1:1/a'),
    await seed.hook('http://127.0.0.1:1/b'),
    await seed.hook('http://127.0.0.1:1/c'),
  ];
  await seed.webhooks([own, paused, mine]);
  const queue = createPostgresQueue({ pool: seed.pool });
  for (const id of [own, mine]) await holdLane(seed.pool, queue, `hook:${id}`, 'gone');
  await holdLane(seed.pool, queue, `hook:${paused}`, 'held by an operator');
  const [repository] = REPOSITORIES;
  if (!repository) throw new Error('The demo has a repository.');
  const hooks = [
    { id: own, name: 'all-events', events: ['*'] },
    { id: paused, name: 'closed-threads', events: ['thread.closed'] },
  ];
  const demo = { repositories: [{ ...repository, id: 1, thread: 1, hooks }] };
  expect((await resumeHeld(seed.pool, demo)).toSorted()).toEqual([
    `hook:${own} was held (gone), 1 pending: resumed, as it is the demo's own hook (all-events).`,
    `hook:${paused} was held (held by an operator), 1 pending; it stays so until: DATABASE_URL=… npx ghost lanes resume hook:${paused}`,
    `hook:${mine} was held (gone), 1 pending; it stays so until: DATABASE_URL=… npx ghost lanes resume hook:${mine}`,
  ]);
  expect((await listLanes(seed.pool, { held: true })).map(({ lane }) => lane)).toEqual([
    `hook:${mine}`,
    `hook:${paused}`,
  ]);
  expect(await resumeHeld(seed.pool, { repositories: [] })).toHaveLength(2);
});
