import { discardJob, listAudit } from '@ghost/operations';
import { createPostgresQueue, type Settlement } from '@ghost/queue';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { addDelivery } from '../../../../../test/support/hook-delivery.js';
import { CAPACITY, DEAD, DONE, FAILED } from '../../../../../test/support/job-scene.js';
import { nextPage } from '../../../../../test/support/next-page.js';
import {
  type Json,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../../test/support/test-api.js';
import { untilFannedOut } from '../../../../../test/support/until-fanned-out.js';

const ENGINE = '/repos/ada/engine';
const config = { url: 'https://receiver.example/path-of-mine' };

let api: TestApi;
let ada: Person;
let repositoryId: number;
let hookId: number;
let path: string;

beforeAll(async () => {
  api = await startTestApi({ env: { GHOST_MAX_ATTEMPTS: '16' } });
  ada = await api.addPerson('ada');
  repositoryId = (await ada.ask('POST', '/user/repos', { name: 'engine' })).body.id;
});
afterAll(() => api.stop());

/** A hook of its own for each test, whose first delivery is its ping. */
beforeEach(async () => {
  hookId = (await ada.ask('POST', `${ENGINE}/hooks`, { config })).body.id;
  path = `${ENGINE}/hooks/${hookId}/deliveries`;
  await untilFannedOut(api.pool);
  // A repository has 20 at most.
  const made = `${ENGINE}/hooks/${hookId}`;
  return async () => {
    await ada.ask('DELETE', made);
  };
});

const queue = () => createPostgresQueue({ pool: api.pool });
const list = async (query = ''): Promise<Json[]> => (await ada.ask('GET', `${path}${query}`)).body;
const show = async (id: number): Promise<Json> => (await ada.ask('GET', `${path}/${id}`)).body;
const redeliver = (id: number) => ada.ask('POST', `${path}/${id}/attempts`);

/** What a worker finds to send to this hook. */
async function claim() {
  const { jobs } = await queue().claim({ kind: 'webhook', ...CAPACITY });
  return jobs.filter(({ lane }) => lane === `hook:${hookId}`);
}

/** A worker sends what is due, and it comes to that. */
async function attempt(
  outcome: Pick<Settlement, 'outcome' | 'reason' | 'charged' | 'delayMs'>,
  told: Partial<NonNullable<Settlement['attempt']>> = {},
) {
  const jobs = await claim();
  await queue().settle(
    jobs.map(({ id, leaseNo, lane, version, redelivery }) => ({
      ...{ id, leaseNo, lane, version, ...outcome },
      attempt: {
        startedAt: new Date().toISOString(),
        requestHead: {
          'x-ghost-event': 'ping',
          ...(redelivery ? { 'x-ghost-redelivery': 'true' } : {}),
        },
        ...told,
      },
    })),
  );
  return jobs;
}

test('an attempt at a hook that rests tells when it is tried again', async () => {
  await attempt({ ...FAILED, delayMs: 60_000 });
  await api.pool.query(
    `UPDATE delivery_lane SET not_before = now() + interval '10 minutes' WHERE lane = $1`,
    [`hook:${hookId}`],
  );
  const [listed] = await list();
  const { next } = (await show(listed.id)).explanation;
  expect(next.message).toBe('Again in about 10 min, attempt 2 of 16.');
});

describe('the attempts of a hook', () => {
  test('are listed, the newest first, each with what came of it', async () => {
    expect(await list()).toEqual([]);
    const [job] = await attempt(
      { ...FAILED, delayMs: 0 },
      { status: 503, timings: { total: 250 } },
    );
    await attempt(DONE, { status: 204, timings: { total: 30 } });
    const item = {
      guid: job?.id,
      redelivery: false,
      event: 'ping',
      action: null,
      installation_id: null,
      repository_id: repositoryId,
    };
    const listed = await list();
    expect(listed).toMatchObject([
      { ...item, status: 'OK', status_code: 204, duration: 0.03 },
      { ...item, status: 'http_500', status_code: 503, duration: 0.25 },
    ]);
    expect(listed[0].id).toBeGreaterThan(listed[1].id);
    expect(Date.parse(listed[0].delivered_at)).toBeGreaterThan(Date.now() - 60_000);
  });

  test('without an answer have the status 0, and an event by name and kind', async () => {
    const { attemptId } = await addDelivery(api.pool, { id: hookId, repositoryId });
    await api.pool.query(
      `UPDATE delivery_attempt SET outcome = 'abandoned', reason = 'lease_expired', status = NULL WHERE id = $1`,
      [attemptId],
    );
    expect(await list()).toMatchObject([
      {
        status: 'lease_expired',
        status_code: 0,
        duration: 0,
        event: 'thread.opened',
        action: 'opened',
      },
    ]);
  });

  test('are walked by cursors, without gap or repeat while others come', async () => {
    const hook = { id: hookId, repositoryId };
    const ids: number[] = [];
    for (let n = 0; n < 5; n++) ids.unshift((await addDelivery(api.pool, hook)).attemptId);
    const seen: number[] = [];
    let at: string | undefined = `${path}?per_page=2`;
    while (at !== undefined) {
      const page = await ada.ask('GET', at);
      seen.push(...page.body.map(({ id }: Json) => id));
      await addDelivery(api.pool, hook);
      at = nextPage(page);
      if (at !== undefined) expect(at).toMatch(/[?&]cursor=/u);
    }
    expect(seen).toEqual(ids);
  });

  test('are found by their event, or by their delivery, and by no other hook’s', async () => {
    const hook = { id: hookId, repositoryId };
    const [a, b] = [await addDelivery(api.pool, hook), await addDelivery(api.pool, hook)];
    const ids = async (query: string) => (await list(query)).map(({ id }) => id);
    expect(await ids(`?event_id=${a.eventId}`)).toEqual([a.attemptId]);
    expect(await ids(`?event_id=${a.eventId.toUpperCase()}&status=success`)).toEqual([a.attemptId]);
    expect(await ids(`?guid=${b.jobId}`)).toEqual([b.attemptId]);
    expect(await ids(`?event_id=${a.eventId}&guid=${b.jobId}`)).toEqual([]);
    expect(await ids(`?event_id=${a.eventId}&status=failure`)).toEqual([]);
    expect(await ids(`?event_id=${a.jobId}`)).toEqual([]);
    const other = (await ada.ask('POST', `${ENGINE}/hooks`, { config })).body.id;
    for (const query of [`event_id=${a.eventId}`, `guid=${a.jobId}`]) {
      const theirs = await ada.ask('GET', `${ENGINE}/hooks/${other}/deliveries?${query}`);
      expect(theirs).toMatchObject({ status: 200, body: [] });
    }
  });

  test('of one delivery are walked by cursors, however many it had', async () => {
    await attempt({ ...FAILED, delayMs: 0 });
    await attempt({ ...FAILED, delayMs: 0 });
    const [job] = await attempt(DONE);
    await addDelivery(api.pool, { id: hookId, repositoryId });
    const seen: number[] = [];
    let at: string | undefined = `${path}?per_page=2&guid=${job?.id}`;
    while (at !== undefined) {
      const page = await ada.ask('GET', at);
      seen.push(...page.body.map(({ id }: Json) => id));
      at = nextPage(page);
      if (at !== undefined) expect(at).toContain(`guid=${job?.id}`);
    }
    expect(seen).toEqual((await list()).slice(1).map(({ id }) => id));
    expect(seen).toHaveLength(3);
  });

  test.each(['event_id', 'guid'])('are not looked for by what is no %s', async (name) => {
    for (const wrong of ['', '7', 'x', `${crypto.randomUUID()}0`, `${crypto.randomUUID()}%0A`]) {
      const answer = await ada.ask('GET', `${path}?${name}=${wrong}`);
      expect(answer).toMatchObject({ status: 422, body: { errors: [{ field: name }] } });
    }
    const twice = `${name}=${crypto.randomUUID()}&${name}=${crypto.randomUUID()}`;
    expect((await ada.ask('GET', `${path}?${twice}`)).status).toBe(422);
  });

  test('are filtered by whether they were delivered', async () => {
    await attempt({ ...FAILED, delayMs: 0 });
    await attempt(DONE);
    await addDelivery(api.pool, { id: hookId, repositoryId });
    const all = (await list()).map(({ id }) => id);
    const ids = async (query: string) => (await list(query)).map(({ id }) => id);
    expect(await ids('?status=success')).toEqual(all.slice(0, 2));
    expect(await ids('?status=failure')).toEqual(all.slice(2));
    const first = await ada.ask('GET', `${path}?status=success&per_page=1`);
    const next = nextPage(first) ?? '';
    expect(next).toContain('status=success');
    expect((await ada.ask('GET', next)).body.map(({ id }: Json) => id)).toEqual(all.slice(1, 2));
  });

  test('hold what was ended before any try, and why; it is neither a success nor a failure', async () => {
    await ada.ask('POST', `${ENGINE}/threads`, { title: 'Talk' });
    await untilFannedOut(api.pool);
    const written = await ada.ask('POST', `${ENGINE}/threads/1/comments`, { body: 'Oops' });
    await untilFannedOut(api.pool);
    await ada.ask('DELETE', `${ENGINE}/threads/comments/${written.body.id}`);
    const [ping] = await claim();
    expect(await discardJob(api.pool, queue(), ping?.id ?? '')).toMatchObject({ result: 'done' });
    // The worker that has it just now finds its result void.
    expect(await queue().settle(ping ? [{ ...ping, ...DONE, attempt: null }] : [])).toEqual([]);

    const [discarded, deleted, ...more] = await list();
    expect(more).toEqual([]);
    expect(discarded).toMatchObject({ event: 'ping', status: 'discarded', status_code: 0 });
    expect(deleted).toMatchObject({ event: 'comment.created', status: 'comment_deleted' });
    expect((await show(deleted.id)).explanation).toMatchObject({
      outcome: 'cancelled',
      reason: 'comment_deleted',
      message: 'Its comment was deleted, and its text is sent no more.',
      attempt: null,
      next: { at: null, message: 'It was cancelled (comment_deleted).' },
    });
    expect(await list('?status=success')).toEqual([]);
    expect(await list('?status=failure')).toEqual([]);
    const { body: hook } = await ada.ask('GET', `${ENGINE}/hooks/${hookId}`);
    expect(hook.last_response).toEqual({ code: null, status: 'unused', message: null });
    expect((await redeliver(deleted.id)).status).toBe(409);
    expect((await redeliver(discarded.id)).status).toBe(202);
    // The thread is told of first.
    await attempt(DONE, { status: 200 });
    await attempt(DONE, { status: 200 });
    const sent = (await list('?status=success')).map(({ guid }) => guid);
    expect(sent).toContain(discarded.guid);
  });

  test('are of this hook alone, and a wrong question is refused', async () => {
    const other = (await ada.ask('POST', `${ENGINE}/hooks`, { config })).body.id;
    const { attemptId } = await addDelivery(api.pool, { id: other, repositoryId });
    expect(await list()).toEqual([]);
    expect((await ada.ask('GET', `${path}/${attemptId}`)).status).toBe(404);
    expect((await redeliver(attemptId)).status).toBe(404);
    for (const wrong of ['?cursor=x', '?status=500', '?per_page=0', '?page=2', '?after=x']) {
      expect((await ada.ask('GET', `${path}${wrong}`)).status).toBe(422);
    }
    const absent = `${ENGINE}/hooks/999999/deliveries`;
    for (const at of [absent, `${absent}/1`, `${path}/999999`, `${path}/x`]) {
      expect((await ada.ask('GET', at)).status).toBe(404);
    }
  });
});

describe('an attempt', () => {
  test('shows what was sent and answered, how long it took, why, and what comes next', async () => {
    const [job] = await attempt(
      { ...FAILED, delayMs: 240_000 },
      {
        status: 500,
        message: 'The endpoint answered 500.',
        timings: { dns: 1, connect: 2, firstByte: 9, total: 12 },
        requestHead: { 'x-ghost-event': 'ping', 'x-ghost-signature': '[redacted]' },
        responseHead: { server: 'nginx' },
        bodyExcerpt: 'Oh no',
      },
    );
    const [item] = await list();
    const shown = await show(item.id);
    expect(shown).toMatchObject(item);
    expect(shown.request.headers).toEqual({
      'x-ghost-event': 'ping',
      'x-ghost-signature': '[redacted]',
    });
    expect(job?.job.kind).toBe('webhook');
    expect(shown.request.payload).toMatchObject({ event: 'ping', hook_id: hookId });
    expect(shown.response).toEqual({ headers: { server: 'nginx' }, payload: 'Oh no' });
    expect(shown.explanation).toMatchObject({
      outcome: 'retry',
      reason: 'http_500',
      message: 'The endpoint answered 500.',
      attempt: 1,
      event_id: job?.eventId,
      timings: { dns: 1, connect: 2, tls: null, first_byte: 9, total: 12 },
    });
    const { at, message } = shown.explanation.next;
    expect(message).toBe('Again in about 4 min, attempt 2 of 16.');
    expect(Date.parse(at)).toBeGreaterThan(Date.now() + 200_000);
  });

  test('of a delivery that waits in a paused hook says so', async () => {
    await attempt({ ...FAILED, delayMs: 0 });
    await ada.ask('PUT', `${ENGINE}/hooks/${hookId}/pause`);
    const [{ id }] = await list();
    const { next } = (await show(id)).explanation;
    expect(next.at).toBeNull();
    expect(next.message).toMatch(/^It waits until the hook is resumed.*It is paused/u);
  });

  test('of which little is kept shows what there is', async () => {
    const { attemptId, jobId } = await addDelivery(api.pool, { id: hookId, repositoryId });
    await api.pool.query('DELETE FROM delivery_job WHERE id = $1', [jobId]);
    expect(await show(attemptId)).toMatchObject({
      guid: jobId,
      event: 'unknown',
      action: null,
      request: { headers: null, payload: null },
      response: { headers: null, payload: null },
      explanation: {
        message: 'The endpoint took it: it answered 200.',
        timings: null,
        event_id: null,
        next: { at: null, message: 'The delivery is kept no longer.' },
      },
    });
  });

  test('of a comment that was deleted shows no text, and is not sent again', async () => {
    await ada.ask('POST', `${ENGINE}/threads`, { title: 'T' });
    const at = `${ENGINE}/threads/1/comments`;
    const comment = (await ada.ask('POST', at, { body: 'Said too much' })).body;
    const { attemptId } = await addDelivery(
      api.pool,
      { id: hookId, repositoryId },
      { event: 'comment.created', commentId: comment.id, body: '{"comment":"Said too much"}' },
    );
    const before = await show(attemptId);
    expect(before.request.payload).toEqual({ comment: 'Said too much' });
    await ada.ask('DELETE', `${ENGINE}/threads/comments/${comment.id}`);
    expect((await show(attemptId)).request.payload).toBeNull();
    const refused = await redeliver(attemptId);
    expect(refused).toMatchObject({ status: 409, body: { code: 'not_redelivered' } });
    expect(refused.body.message).toContain('its comment was deleted');
  });
});

describe('a delivery is sent again', () => {
  test.each([
    ['delivered', DONE],
    ['dead', DEAD],
    ['cancelled', { outcome: 'cancelled', reason: 'hook_inactive', charged: false, delayMs: 0 }],
  ] as const)(
    'when it was %s: the same id and bytes, marked, as often as asked',
    async (_, end) => {
      const [job] = await attempt(end);
      const [{ id }] = await list();
      for (let again = 1; again <= 3; again++) {
        const answer = await redeliver(id);
        expect(answer).toMatchObject({ status: 202, body: {} });
        const [sent] = await attempt(DONE);
        expect(sent).toMatchObject({ id: job?.id, redelivery: true, attempts: 0 });
        expect(sent?.job).toEqual(job?.job);
        const [newest, ...before] = await list();
        expect(newest).toMatchObject({ guid: job?.id, redelivery: true, status: 'OK' });
        expect(before.at(-1)).toMatchObject({ id, guid: job?.id, redelivery: false });
      }
      const lines = await listAudit(api.pool, { repository: 'ada/engine' });
      const own = lines.filter(({ detail }) => detail['hook'] === hookId);
      expect(own.slice(0, 3)).toMatchObject(
        [1, 2, 3].map(() => ({
          action: 'hook.redelivered',
          actor: 'ada',
          detail: { hook: hookId, delivery: job?.id, attempt: id },
        })),
      );
    },
  );

  test('not while it is pending, nor by a hook that is not active; nothing is changed then', async () => {
    await attempt({ ...FAILED, delayMs: 60_000 });
    const [{ id }] = await list();
    const pending = await redeliver(id);
    expect(pending).toMatchObject({ status: 409, body: { code: 'not_redelivered' } });
    expect(pending.body.message).toMatch(/it is pending already \(next try \d{4}-/u);
    await ada.ask('PATCH', `${ENGINE}/hooks/${hookId}`, { active: false });
    const { attemptId } = await addDelivery(api.pool, { id: hookId, repositoryId });
    const inactive = await redeliver(attemptId);
    expect(inactive).toMatchObject({ status: 409, body: { code: 'not_redelivered' } });
    expect(inactive.body.message).toContain('not active');
    const lines = await listAudit(api.pool, { repository: 'ada/engine' });
    const own = lines.filter(({ detail }) => detail['hook'] === hookId);
    expect(own.map(({ action }) => action)).toEqual(['hook.changed', 'hook.added']);
  });

  test('to a paused hook: it waits with the others', async () => {
    const [ping] = await attempt(DONE);
    const [{ id }] = await list();
    await ada.ask('PUT', `${ENGINE}/hooks/${hookId}/pause`);
    expect((await redeliver(id)).status).toBe(202);
    expect(await claim()).toEqual([]);
    await ada.ask('DELETE', `${ENGINE}/hooks/${hookId}/pause`);
    expect((await claim()).map((job) => job.id)).toEqual([ping?.id]);
  });
});
