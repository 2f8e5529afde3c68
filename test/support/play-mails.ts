import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { onTestFinished } from 'vitest';

import { seededDatabase } from './delivery-worker.js';
import { type MailWorkerSettings, startMailWorker } from './mail-worker.js';
import {
  type SmtpAnswer,
  type SmtpMoment,
  type SmtpScript,
  startScriptedSmtp,
} from './scripted-smtp.js';
import { untilTestEnds } from './servers-of-a-test.js';
import { waitUntil } from './wait-until.js';

export const ADA = 'ada@one.example';

/** A relay that follows the script, a worker that uses it, and mails to these addresses. */
export async function playMails(
  answer: SmtpScript['answer'],
  {
    to = [ADA],
    text,
    tls,
    offers,
    login = '',
    host = '127.0.0.1',
    ...more
  }: Partial<MailWorkerSettings> &
    Pick<SmtpScript, 'tls' | 'offers'> & {
      to?: string[];
      text?: string;
      login?: string;
      host?: string;
    } = {},
) {
  const { databaseUrl, seed } = await seededDatabase();
  const relay = untilTestEnds(
    await startScriptedSmtp({ answer, ...(tls ? { tls } : {}), ...(offers ? { offers } : {}) }),
  );
  const ids = await seed.mails(to, text);
  const worker = await startMailWorker(databaseUrl, {
    relayUrl: `smtp://${login}${host}:${relay.port}`,
    ...more,
  });
  const attempts = async () =>
    (await seed.attempts()).map(({ number, outcome, reason }) => [number, outcome, reason]);
  return {
    ...{ relay, seed, ids, worker, attempts, databaseUrl },
    /** The jobs in the order of the addresses. */
    jobs: async () =>
      (await seed.jobs()).map(({ status, attempts: charged, lastError }) => ({
        ...{ status, charged, lastError },
      })),
    until: (what: string, seen: () => boolean | Promise<boolean>) => waitUntil(seen, { what }),
    /** All ended; the first of them. */
    ended: async () => {
      const ends = async () => (await seed.jobs()).every(({ status }) => status !== 'pending');
      await waitUntil(ends, { what: 'all mails to end' });
      return (await seed.jobs())[0];
    },
    rests: () => worker.lines.filter(({ event }) => event === 'delivery.relay_rests'),
    suppressed: async () =>
      (
        await seed.pool.query(
          'SELECT address, reason, strikes, until IS NOT NULL AS soft FROM mail_suppression ORDER BY address',
        )
      ).rows,
    /** What waits is due now. Lanes are locked first and in order, as everybody does. */
    hurry: () =>
      seed.pool.query(
        `WITH locked AS MATERIALIZED (SELECT lane, version FROM delivery_lane ORDER BY lane, version FOR UPDATE),
           due AS (
             UPDATE delivery_job SET run_at = now()
             WHERE status = 'pending' AND lease_until IS NULL AND (SELECT count(*) FROM locked) > 0
           ),
           lanes AS (
             UPDATE delivery_lane d SET next_at = now(), mark = least(d.mark, now())
             FROM locked l WHERE d.lane = l.lane AND d.version = l.version
           )
         SELECT pg_notify('ghost_delivery', '')`,
      ),
  };
}

/** Settings that require TLS, and trust this authority. */
export async function trusting(certificate: string): Promise<Record<string, string>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'ghost-ca-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'ca.pem');
  await writeFile(file, certificate);
  return { GHOST_SMTP_TLS: 'required', GHOST_EXTRA_CA_FILE: file };
}

/** These answers one after the other in this phase; then what a relay says that takes all. */
export function at(phase: SmtpMoment['phase'], ...answers: SmtpAnswer[]): SmtpScript['answer'] {
  return (moment) => (moment.phase === phase ? answers.shift() : undefined);
}

/** This answer in this phase, each time. */
export const always =
  (phase: SmtpMoment['phase'], answer: SmtpAnswer): SmtpScript['answer'] =>
  (moment) =>
    moment.phase === phase ? answer : undefined;

export const SILENCE: SmtpAnswer = { silence: true };
/** Deadlines that a test can wait for. */
export const SHORT = { toTheDotMs: 250, afterTheDotMs: 400 };
/** A reply of so many lines and this last one. */
export const linesOf = (count: number, last: string) => [
  ...Array.from({ length: count }, (_, n) => `250-line ${n}`),
  last,
];

/** What a relay's URL has before its host, where it asks for a log-in. */
export const AUTH = 'ghost:secret@';

/** Each fault once, in turn; then what a relay says that takes all. */
export function faultsInTurn(
  faults: [phase: SmtpMoment['phase'], answer: SmtpAnswer, reason: string][],
) {
  const left = [...faults];
  const answer: SmtpScript['answer'] = ({ phase }) =>
    left[0]?.[0] === phase ? left.shift()?.[1] : undefined;
  return { answer, reasons: faults.map(([, , reason]) => reason) };
}
