import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { createPool, type Pool } from './pool.js';

let database: TestDatabase;
let pool: Pool;

const CONTENT = '018f0000-0000-7000-8000-00000000000c';
const EVENT = '018f0000-0000-7000-8000-00000000000e';

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({
    connectionString: database.url,
    name: 'test',
    max: 2,
    onError: () => undefined,
  });
  await pool.query(
    `INSERT INTO outbox_event (id, type, version, payload) VALUES ($1, 'ping', 1, '{}')`,
    [EVENT],
  );
  await pool.query(`INSERT INTO delivery_content (id, kind, body) VALUES ($1, 'webhook', '{}')`, [
    CONTENT,
  ]);
  await pool.query(`
    WITH a AS (INSERT INTO account (login, name) VALUES ('ada', 'Ada') RETURNING id)
    INSERT INTO repository (owner_id, name) SELECT id, 'engine' FROM a`);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const JOB = `INSERT INTO delivery_job (id, idempotency_key, content_id, kind, version, lane, hook_id, own, expires_at, `;
const hook = (column: string, value: string) =>
  `INSERT INTO hook (repository_id, url, events, ${column}) SELECT id, 'https://x.example', '{ping}', ${value} FROM repository`;
const replay = (columns: string, values: string) =>
  columns.includes('since')
    ? `INSERT INTO hook_replay (which, account, ahead, ${columns}) VALUES ('failed', 'ada', 20, ${values})`
    : `INSERT INTO hook_replay (which, account, ahead, since, until, ${columns}) VALUES ('failed', 'ada', 20, now() - interval '1 hour', now(), ${values})`;
const JOB_VALUES = `VALUES (gen_random_uuid(), gen_random_uuid()::text, '${CONTENT}', `;

// Each row: what must not be stored, and the constraint that says so by name.
describe('the database refuses', () => {
  test.each([
    [
      'a finished job that is pending',
      'delivery_job_finished_iff_ended',
      `${JOB} finished_at) ${JOB_VALUES} 'webhook', 1, 'hook:1', 1, '{}', now(), now())`,
    ],
    [
      'an ended job with a lease',
      'delivery_job_lease_only_pending',
      `${JOB} status, finished_at, lease_until) ${JOB_VALUES} 'webhook', 1, 'hook:1', 1, '{}', now(), 'dead', now(), now())`,
    ],
    [
      'a webhook job without a hook',
      'delivery_job_webhook_names_hook',
      `${JOB} status) ${JOB_VALUES} 'webhook', 1, 'hook:1', NULL, '{}', now(), 'pending')`,
    ],
    [
      'a webhook job in a mail lane',
      'delivery_job_lane_fits_kind',
      `${JOB} status) ${JOB_VALUES} 'webhook', 1, 'mail:x.example', 1, '{}', now(), 'pending')`,
    ],
    [
      'a job whose event has no content of its kind',
      'delivery_job_content_of_event',
      `${JOB} status, event_id) ${JOB_VALUES} 'webhook', 1, 'hook:1', 1, '{}', now(), 'pending', '${EVENT}')`,
    ],
    [
      'an unknown status',
      'delivery_job_status_known',
      `${JOB} status, finished_at) ${JOB_VALUES} 'webhook', 1, 'hook:1', 1, '{}', now(), 'lost', now())`,
    ],
    [
      'a mail content with a body',
      'delivery_content_fits_kind',
      `INSERT INTO delivery_content (id, kind, body) VALUES (gen_random_uuid(), 'email', 'x')`,
    ],
    [
      'a held lane without a time',
      'delivery_lane_held_has_time',
      `INSERT INTO delivery_lane (lane, version, kind, held_reason) VALUES ('hook:1', 1, 'webhook', 'paused')`,
    ],
    ['a second relay', 'delivery_relay_one_row', `INSERT INTO delivery_relay (id) VALUES (false)`],
    [
      'progress that is both done and set aside',
      'outbox_progress_one_end',
      `INSERT INTO outbox_progress (event_id, consumer, done_at, set_aside_at) VALUES ('${EVENT}', 'x', now(), now())`,
    ],
    [
      'ended progress with a lease',
      'outbox_progress_ended_has_no_lease',
      `INSERT INTO outbox_progress (event_id, consumer, done_at, lease_until) VALUES ('${EVENT}', 'x', now(), now())`,
    ],
    [
      'a suppressed address in capitals',
      'mail_suppression_lower_case',
      `INSERT INTO mail_suppression (address, reason) VALUES ('A@x.example', 'unknown_user')`,
    ],
    [
      'names of headers without their values',
      'hook_headers_sealed',
      hook('header_names', `'{authorization}'`),
    ],
    ['values of headers without a name', 'hook_headers_sealed', hook('headers_ciphertext', `'v1'`)],
    ['filters that are no list', 'hook_filters_bounded', hook('filters', `'{}'`)],
    [
      'more than ten filters',
      'hook_filters_bounded',
      hook('filters', `'[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]'`),
    ],
    [
      'an event that more than ten hooks led to',
      'outbox_event_chain_bounded',
      `UPDATE outbox_event SET hook_chain = '{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}'`,
    ],
    [
      'a secret that was changed, and no end of the one before',
      'hook_old_secret_ends_after_change',
      hook('secret_changed_at', 'now()'),
    ],
    [
      'an old secret that ended before it was replaced',
      'hook_old_secret_ends_after_change',
      hook('secret_changed_at, old_secret_until', `now(), now() - interval '1 second'`),
    ],
    [
      'a secret that ends before it begins',
      'hook_secret_ends_after_start',
      `WITH h AS (${hook('active', 'true')} RETURNING id)
       INSERT INTO hook_secret (hook_id, ciphertext, expires_at) SELECT id, 'v1', now() - interval '1 second' FROM h`,
    ],
    [
      'a replay that came further than there is',
      'hook_replay_reached_within',
      replay('total, reached, handed_at, cancelled_at', '1, 2, now(), now()'),
    ],
    [
      'a replay that counts more than it made pending',
      'hook_replay_counts_within',
      replay('total, reached, delivered', '5, 1, 2'),
    ],
    [
      'a replay that ended before all was made pending',
      'hook_replay_handed_when_over',
      replay('total, ended_at', '5, now()'),
    ],
    [
      'a replay that is through and may make more pending',
      'hook_replay_handed_iff_through',
      replay('total, reached', '5, 5'),
    ],
    [
      'a replay of no time',
      'hook_replay_until_after_since',
      replay('total, since, until', '5, now(), now()'),
    ],
    [
      'two replays at once of one hook',
      'hook_replay_one_a_hook',
      `WITH h AS (${hook('active', 'true')} RETURNING id)
       INSERT INTO hook_replay (hook_id, which, since, until, account, ahead, total)
       SELECT id, 'failed', now() - interval '1 hour', now(), 'ada', 20, 5 FROM h, generate_series(1, 2)`,
    ],
  ])('%s (%s)', async (_what, constraint, statement) => {
    await expect(pool.query(statement)).rejects.toMatchObject({ constraint });
  });
});
