import { listAudit } from '@ghost/operations';
import { createPostgresQueue, type Queue } from '@ghost/queue';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { addEnded } from '../../../../../test/support/ended-deliveries.js';
import { CAPACITY, DONE, settleAll } from '../../../../../test/support/job-scene.js';
import { nextPage } from '../../../../../test/support/next-page.js';
import {
  type Json,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../../test/support/test-api.js';
import { untilFannedOut } from '../../../../../test/support/until-fanned-out.js';
import { waitUntil } from '../../../../../test/support/wait-until.js';

const ENGINE = '/repos/ada/engine';
const config = { url: 'https://receiver.example/' };

let api: TestApi;
let ada: Person;
let queue: Queue;
let hookId: number;
let hook: string;

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
  await ada.ask('POST', '/user/repos', { name: 'engine' });
  queue = createPostgresQueue({ pool: api.pool });
});
afterAll(() => api.stop());

/** A hook of its own for each test; its ping is cancelled. */
beforeEach(async () => {
  hookId = (await ada.ask('POST', `${ENGINE}/hooks`, { config })).body.id;
  hook = `${ENGINE}/hooks/${hookId}`;
  await untilFannedOut(api.pool);
  await api.pool.query(
    `SELECT delivery_cancel(ARRAY(SELECT id FROM delivery_job WHERE hook_id = $1), 'test')`,
    [hookId],
  );
});

const since = () => new Date(Date.now() - 3_600_000).toISOString();
const start = async (more: object = {}): Promise<Json> =>
  ada.ask('POST', `${hook}/replays`, { since: since(), ...more });
const show = async (id: number): Promise<Json> =>
  (await ada.ask('GET', `${hook}/replays/${id}`)).body;
const until = (id: number, fits: (replay: Json) => boolean, what: string) =>
  waitUntil(
    async () => {
      const replay = await show(id);
      return fits(replay) ? replay : undefined;
    },
    { what },
  );

/** As delivery does it. */
async function deliverDue(): Promise<void> {
  const claim = await queue.claim({ ...CAPACITY, kind: 'webhook' });
  await settleAll(queue, claim, DONE);
}

describe('replays of a hook', () => {
  test('are previewed, started and run to their end, as the preview said', async () => {
    await addEnded(api.pool, hookId, { deliveries: 30 });
    const asked = `${hook}/replays/preview?since=${since()}`;
    const preview = await ada.ask('GET', asked);
    expect(preview).toMatchObject({
      status: 200,
      body: {
        ...{ which: 'failed', total: 30, by_status: { dead: 30 }, left_out: {} },
        by_event: { 'thread.opened': 30 },
      },
    });
    const { until: end, total } = preview.body;
    const started = await start({ until: end, expected_total: total });
    expect(started).toMatchObject({
      status: 202,
      body: {
        ...{ state: 'running', started_by: 'ada', ended_at: null },
        progress: { total: 30, remaining: 30, queued: 0, skipped_by: {} },
      },
    });
    const { id } = started.body;
    const seen: Json[] = [];
    const done = await until(
      id,
      (replay) => {
        seen.push(replay.progress);
        void deliverDue();
        return replay.ended_at !== null;
      },
      'the replay to end',
    );
    expect(done).toMatchObject({ state: 'done', progress: { delivered: 30, queued: 30 } });
    for (const { total: all, remaining, queued, skipped } of seen) {
      expect(remaining + queued + skipped).toBe(all);
    }
    const line = (await listAudit(api.pool)).find(({ detail }) => detail['replay'] === id);
    expect(line).toMatchObject({
      ...{ action: 'hook.replay_started', actor: 'ada', repository: 'ada/engine' },
      detail: { hook: hookId, which: 'failed', total: 30 },
    });
  });

  test('wait for a paused hook, go on when it is resumed, and are cancelled', async () => {
    await addEnded(api.pool, hookId, { deliveries: 100 });
    await ada.ask('PUT', `${hook}/pause`);
    const { id } = (await start()).body;
    const waiting = await until(id, ({ state }) => state === 'waiting', 'it to wait');
    expect(waiting.message).toMatch(/^It goes on when the hook is resumed\. It is paused\./u);
    await waitUntil(
      async () => {
        const { rows } = await api.pool.query(
          `SELECT FROM hook_replay WHERE id = $1 AND next_at = 'infinity'`,
          [id],
        );
        return rows.length > 0;
      },
      { what: 'it to sleep' },
    );
    await ada.ask('DELETE', `${hook}/pause`);
    await until(id, ({ progress }) => progress.queued === 40, 'it to go on');
    const cancelled = await ada.ask('DELETE', `${hook}/replays/${id}`);
    expect(cancelled).toMatchObject({
      ...{ status: 200, body: { state: 'cancelled', progress: { remaining: 60, pending: 40 } } },
    });
    await until(
      id,
      (replay) => {
        void deliverDue();
        return replay.ended_at !== null;
      },
      'what was pending to end',
    );
    expect(await show(id)).toMatchObject({ state: 'cancelled', progress: { delivered: 40 } });
    const actions = (await listAudit(api.pool)).map(({ action }) => action);
    expect(actions.slice(0, 4)).toContain('hook.replay_cancelled');
  });

  test('end with their hook, also where they waited for it', async () => {
    await addEnded(api.pool, hookId, { deliveries: 100 });
    await ada.ask('PUT', `${hook}/pause`);
    const { id } = (await start()).body;
    const find = async (where: string) =>
      (await api.pool.query(`SELECT FROM hook_replay WHERE id = $1 AND ${where}`, [id])).rows;
    await waitUntil(async () => (await find(`next_at = 'infinity'`)).length > 0, {
      what: 'it to sleep',
    });
    expect((await ada.ask('DELETE', hook)).status).toBe(204);
    const ended = 'cancelled_at IS NOT NULL AND ended_at IS NOT NULL';
    await waitUntil(async () => (await find(ended)).length > 0, { what: 'it to end' });
    const targets = 'SELECT FROM hook_replay_target WHERE replay_id = $1';
    expect((await api.pool.query(targets, [id])).rows).toEqual([]);
  });

  test('go on when an inactive hook is made active', async () => {
    await addEnded(api.pool, hookId, { deliveries: 3 });
    await api.pool.query('UPDATE hook SET active = false WHERE id = $1', [hookId]);
    expect((await start()).body).toMatchObject({ code: 'hook_inactive' });
    await api.pool.query('UPDATE hook SET active = true WHERE id = $1', [hookId]);
    await ada.ask('PUT', `${hook}/pause`);
    const { id } = (await start()).body;
    await ada.ask('PATCH', hook, { active: false });
    await ada.ask('DELETE', `${hook}/pause`);
    expect(await show(id)).toMatchObject({
      ...{ state: 'waiting', message: expect.stringContaining('not active') as unknown },
    });
    await ada.ask('PATCH', hook, { active: true });
    await until(id, ({ progress }) => progress.queued === 3, 'it to go on');
  });

  test('are one at a time, and cancelled only while something is left', async () => {
    await addEnded(api.pool, hookId, { deliveries: 1 });
    await ada.ask('PUT', `${hook}/pause`);
    const { id } = (await start()).body;
    const second = await start();
    expect(second).toMatchObject({ status: 409, body: { code: 'already_replaying' } });
    expect(second.body.message).toContain(`Replay ${id} `);
    await ada.ask('DELETE', `${hook}/pause`);
    await until(id, ({ state }) => state === 'finishing', 'it to be through');
    expect(await ada.ask('DELETE', `${hook}/replays/${id}`)).toMatchObject({
      ...{ status: 409, body: { code: 'nothing_left_to_cancel' } },
    });
  });

  test('are listed, the newest first, by pages', async () => {
    const made: number[] = [];
    for (let n = 0; n < 3; n += 1) made.unshift((await start()).body.id);
    const first = await ada.ask('GET', `${hook}/replays?per_page=2`);
    expect(first.body.map(({ id }: Json) => id)).toEqual(made.slice(0, 2));
    const rest = await ada.ask('GET', nextPage(first) ?? '');
    expect(rest.body.map(({ id }: Json) => id)).toEqual(made.slice(2));
    expect(nextPage(rest)).toBeUndefined();
  });

  test.each([
    [{ since: undefined }, 'since', 'missing_field'],
    [{ since: 'yesterday' }, 'since', 'invalid'],
    [{ since: '2099-01-01T00:00:00Z' }, 'since', 'in_future'],
    [{ since: '2020-01-01T00:00:00Z' }, 'since', 'too_old'],
    [{ until: '2099-01-01T00:00:00Z' }, 'until', 'in_future'],
    [{ until: '2020-01-01T00:00:00Z' }, 'until', 'before_since'],
    [{ which: 'some' }, 'which', 'invalid'],
  ])('with %j are a 422, as their previews are', async (given, field, code) => {
    const all: Record<string, string | undefined> = { since: since(), ...given };
    const wish = Object.fromEntries(
      Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    ) as Record<string, string>;
    const query = new URLSearchParams(wish).toString();
    for (const answer of [
      await ada.ask('POST', `${hook}/replays`, wish),
      await ada.ask('GET', `${hook}/replays/preview?${query}`),
    ]) {
      expect(answer).toMatchObject({ status: 422, body: { errors: [{ field, code }] } });
    }
  });

  test('of another number than expected are a 409', async () => {
    expect(await start({ expected_total: 1 })).toMatchObject({
      ...{ status: 409, body: { code: 'total_differs' } },
    });
  });

  test('of another hook are not found', async () => {
    const { id } = (await start()).body;
    const other = (await ada.ask('POST', `${ENGINE}/hooks`, { config })).body.id;
    for (const method of ['GET', 'DELETE']) {
      const answer = await ada.ask(method, `${ENGINE}/hooks/${other}/replays/${id}`);
      expect(answer.status).toBe(404);
    }
  });
});
