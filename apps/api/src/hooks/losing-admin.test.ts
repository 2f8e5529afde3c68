import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import {
  type Answer,
  type Json,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../test/support/test-api.js';
import { countBlocked } from '../../../../test/support/until-blocked.js';
import { untilFannedOut } from '../../../../test/support/until-fanned-out.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

/** Enough that one always holds what a removal waits for. */
const PINGERS = 6;
const URL_OF_HOOK = 'https://receiver.example/hook';

let api: TestApi;
let ada: Person;
let cleo: Person;
let made = 0;
let place: string;
let repositoryId: number;
let hook: Json;

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
  cleo = await api.addPerson('cleo');
});
afterAll(() => api.stop());

beforeEach(async () => {
  made += 1;
  place = `/repos/ada/place-${made}`;
  const repository = await ada.ask('POST', '/user/repos', { name: `place-${made}` });
  repositoryId = repository.body.id;
  await ada.ask('PUT', `${place}/collaborators/cleo`, { permission: 'admin' });
  hook = (await ada.ask('POST', `${place}/hooks`, { config: { url: URL_OF_HOOK } })).body;
  // What is counted afterwards are the requests alone.
  await untilFannedOut(api.pool);
});

/** Until so many requests wait for a lock, or the last of them was answered without waiting. */
async function untilWaiting(many: number, last: Promise<Answer>): Promise<void> {
  let answered = false;
  void last.finally(() => {
    answered = true;
  });
  await waitUntil(async () => answered || (await countBlocked(api.pool)) >= many, {
    what: `${many} requests to wait for a lock`,
  });
}

/** Runs `work` while another transaction holds what `lock` locks; it ends when `work` says so. */
async function holding<T>(lock: string, work: (end: () => Promise<void>) => Promise<T>) {
  const holder = await api.pool.connect();
  try {
    await holder.query('BEGIN');
    await holder.query(lock);
    return await work(async () => {
      await holder.query('COMMIT');
    });
  } finally {
    await holder.query('ROLLBACK');
    holder.release();
  }
}

async function written() {
  const { rows } = await api.pool.query(
    `SELECT (SELECT json_agg(h ORDER BY id) FROM hook h WHERE repository_id = $1) AS hooks,
       (SELECT json_agg(s.id) FROM hook_secret s JOIN hook h ON h.id = s.hook_id WHERE repository_id = $1) AS secrets,
       (SELECT count(*) FROM outbox_event WHERE repository_id = $1 AND type = 'ping') AS pings`,
    [repositoryId],
  );
  return rows[0];
}

const theRepository = (strength: string) =>
  `SELECT FROM repository WHERE id = ${repositoryId} FOR ${strength}`;

const config = { url: 'https://evil.example/', secret: 'a secret of their own' };
const acts: [string, () => Promise<Answer>][] = [
  ['makes no hook', () => cleo.ask('POST', `${place}/hooks`, { config })],
  ['edits none', () => cleo.ask('PATCH', `${place}/hooks/${hook.id}`, { config })],
  ['edits no config', () => cleo.ask('PATCH', `${place}/hooks/${hook.id}/config`, config)],
  ['deletes none', () => cleo.ask('DELETE', `${place}/hooks/${hook.id}`)],
  ['pings none', () => cleo.ask('POST', `${place}/hooks/${hook.id}/pings`)],
];

describe('an admin who is removed while the request waits', () => {
  test.each(acts)('%s', async (_name, act) => {
    const before = await written();
    const answers = await holding(theRepository('NO KEY UPDATE'), async (end) => {
      const removing = ada.ask('DELETE', `${place}/collaborators/cleo`);
      await untilWaiting(1, removing);
      const acting = act();
      await untilWaiting(2, acting);
      await end();
      return [(await removing).status, (await acting).status];
    });
    expect(answers).toEqual([204, 404]);
    expect(await written()).toEqual(before);
  });

  test('sees no list of hooks', async () => {
    const lock = `LOCK TABLE hook; DELETE FROM member WHERE repository_id = ${repositoryId}`;
    const answer = await holding(lock, async (end) => {
      const asking = cleo.ask('GET', `${place}/hooks`);
      await untilWaiting(1, asking);
      await end();
      return asking;
    });
    expect(answer.status).toBe(404);
  });
});

test('an admin whose hook edit waits for another edit is not removed before it ends', async () => {
  const editing = await holding(
    `SELECT FROM hook WHERE id = ${hook.id} FOR NO KEY UPDATE`,
    async (end) => {
      const edited = cleo.ask('PATCH', `${place}/hooks/${hook.id}`, { active: false });
      await untilWaiting(1, edited);
      const removed = ada.ask('DELETE', `${place}/collaborators/cleo`);
      await untilWaiting(2, removed);
      await end();
      const statuses = [(await edited).status, (await removed).status];
      // As they were written: two answers may overtake each other on their way.
      const { rows } = await api.pool.query<{ action: string }>(
        `SELECT action FROM audit_entry WHERE repository = $1 AND action IN ('hook.changed', 'member.removed') ORDER BY id`,
        [place.slice('/repos/'.length)],
      );
      return { statuses, order: rows.map(({ action }) => action) };
    },
  );
  expect(editing).toEqual({ statuses: [200, 204], order: ['hook.changed', 'member.removed'] });
});

test.each([
  ['made', (at: string) => ada.ask('POST', at, { config: { url: URL_OF_HOOK } }), 201],
  ['edited', (at: string) => ada.ask('PATCH', `${at}/${hook.id}`, { active: false }), 200],
  ['pinged', (at: string) => ada.ask('POST', `${at}/${hook.id}/pings`), 204],
])('a hook is %s while a page of fan-out is open', async (_name, act, status) => {
  // What an open page holds.
  const answer = await holding(theRepository('SHARE'), async () => act(`${place}/hooks`));
  expect(answer.status).toBe(status);
});

test('an admin who pings a hook without a pause is removed all the same', async () => {
  let removed = false;
  const pinging = Array.from({ length: PINGERS }, async () => {
    let status = 204;
    while (status === 204 && !removed) {
      ({ status } = await cleo.ask('POST', `${place}/hooks/${hook.id}/pings`));
    }
    return status;
  });
  const before = Number((await written()).pings);
  await waitUntil(async () => Number((await written()).pings) > before + PINGERS, {
    what: 'pings to overlap',
  });
  const removal = await ada.ask('DELETE', `${place}/collaborators/cleo`).finally(() => {
    removed = true;
  });
  expect(removal.status).toBe(204);
  expect(await Promise.all(pinging)).not.toContain(503);
});
