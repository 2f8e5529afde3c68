import { EVENT_VERSION, JOB_VERSION, type MailContent, toStorableJson } from '@ghost/contract';
import { inTransaction, type Pool } from '@ghost/db';
import { mailLane, type Queue, sqlOf } from '@ghost/queue';
import { uuidv7 } from 'uuidv7';

import { type DeliveryRow } from '../delivery-row.js';
import { findJob } from '../jobs.js';
import { type MailSender, sentBy } from './mail-sender.js';
import { findRelayRest, type RelayRest } from './relay-rest.js';

/** Type of the event that a test mail belongs to: no consumer knows it, and none is asked. */
const EVENT_TYPE = 'mail.test';

/** One attempt of a test mail, as the relay answered it. */
export interface TestAttempt {
  outcome: string;
  reason: string | null;
  message: string | null;
  /** The relay's reply code. */
  status: number | null;
  reply: string | null;
  tookMs: number | null;
}

/** Where a test mail stands. */
export interface TestMailState {
  job: DeliveryRow;
  attempts: TestAttempt[];
  /** Null while the relay works. */
  relayRests: RelayRest | null;
}

/**
 * Puts a test mail into the queue, as any other mail: delivery sends it. Its address belongs to no account, so nobody's
 * choices count; a suppressed address gets none.
 * @returns the job's id
 */
export async function enqueueTestMail(
  pool: Pool,
  queue: Queue,
  { address, sender, now }: { address: string; sender: MailSender; now: Date },
): Promise<string> {
  const [eventId, id] = [uuidv7(), uuidv7()];
  await inTransaction(pool, async (tx) => {
    const sql = sqlOf(tx);
    await sql.query(
      `INSERT INTO outbox_event (id, type, version, payload, processed_at) VALUES ($1, $2, $3, $4::jsonb, now())`,
      [eventId, EVENT_TYPE, EVENT_VERSION, toStorableJson({})],
    );
    const parts = testMail(sender, now);
    const contentId = await queue.storeContent(sql, { kind: 'email', eventId, parts });
    await queue.enqueue(sql, [
      {
        id,
        idempotencyKey: `email:${eventId}:test`,
        eventId,
        contentId,
        kind: 'email',
        version: JOB_VERSION,
        lane: mailLane(address, false),
        repositoryId: null,
        accountId: null,
        own: { to: { name: '', address }, slots: {} },
      },
    ]);
  });
  return id;
}

export async function testMailState(pool: Pool, jobId: string): Promise<TestMailState> {
  const job = await findJob(pool, jobId);
  if (job === null) throw new Error(`The test mail ${jobId} is gone`);
  const { rows: attempts } = await pool.query<TestAttempt>(
    `SELECT outcome, reason, message, status, body_excerpt AS reply, (timings ->> 'total')::float8 AS "tookMs"
     FROM delivery_attempt WHERE job_id = $1 ORDER BY id`,
    [jobId],
  );
  return { job, attempts, relayRests: await findRelayRest(pool) };
}

function testMail(sender: MailSender, now: Date): MailContent {
  const { name, publicUrl } = sender;
  const text = `This is a test mail of ${name} at ${publicUrl}. It went through the queue, delivery and the mail relay, as every other mail does. Nobody has to do anything.\n`;
  return {
    ...sentBy(sender, now),
    subject: [`[${name}] Test mail`],
    text: [text],
    headers: [
      // RFC 3834: nobody's program should answer it.
      ['Auto-Submitted', ['auto-generated']],
      ['X-Auto-Response-Suppress', ['All']],
    ],
  };
}
