import { afterAll, beforeAll, expect, test } from 'vitest';

import { FanoutWorld, type Place } from '../../../../test/support/fanout-world.js';
import type { Account } from '../accounts/current-account.js';
import { CommentsService } from './comments.service.js';

let world: FanoutWorld;
let place: Place;

beforeAll(async () => {
  world = await FanoutWorld.create();
  place = await world.place();
});
afterAll(() => world.stop());

/** The statements that posting a comment sends, one after the other, by their first word. */
async function statementsOf(body: string): Promise<string[]> {
  const sent: string[] = [];
  const hear = <F extends (...args: never[]) => unknown>(query: F): F =>
    ((...args: Parameters<F>) => {
      const [first] = args as unknown[];
      const text = typeof first === 'string' ? first : (first as { text: string }).text;
      sent.push(text.includes('COMMIT') ? 'commit' : (/\S+/u.exec(text)?.[0] ?? '').toLowerCase());
      return query(...args);
    }) as F;
  const client = await world.pool.connect();
  const query = hear(client.query.bind(client));
  const pool = Object.assign(Object.create(world.pool) as typeof world.pool, {
    connect: () => Promise.resolve(Object.assign(Object.create(client), { query, release() {} })),
  });
  const account: Account = {
    id: place.ownerId,
    login: 'person-1',
    name: 'Owner',
    isAdmin: false,
    token: { id: 1, scopes: ['repo'], expiresAt: null },
  };
  const comments = new CommentsService(world.db, pool, world.queue, world.settings);
  await comments.create(account, { owner: 'person-1', repo: 'place', number: 1 }, { body });
  client.release();
  return sent;
}

// Before them, one finds the token and one the thread: six round trips in all.
const POST = ['begin', 'with', 'with', 'commit'];

test.each(['Hello', 'Mail ada@people.example', 'In `@code`', '@'])(
  '%j mentions nobody, and its transaction has four round trips',
  async (body) => {
    expect(await statementsOf(body)).toEqual(POST);
  },
);

test('a text that mentions any number of people has one more', async () => {
  const many = Array.from({ length: 60 }, (_, n) => `@person-${n}`).join(' ');
  expect(await statementsOf(many)).toEqual(['begin', 'with', 'with', 'with', 'commit']);
});
