import { setTimeout as delay } from 'node:timers/promises';

import { assertNever } from '@ghost/contract';
import type { Pool } from '@ghost/db';
import {
  checkEmail,
  enqueueTestMail,
  listSuppressions,
  mailSender,
  type TestAttempt,
  type TestMailState,
  testMailState,
} from '@ghost/operations';
import { createPostgresQueue } from '@ghost/queue';
import { type Command, InvalidArgumentError } from 'commander';

import { CommandError } from '../command-error.js';
import { type Context, withPool } from '../context.js';
import { formatTime, printJson } from '../print.js';
import { readWholeNumber } from '../read-whole-number.js';

const DEFAULT_WAIT_S = 60;
const MAX_WAIT_S = 3_600;
const LOOK_EVERY_MS = 200;
/** So long nothing happened: what may be the cause is said once. */
const HINT_AFTER_MS = 5_000;

/** What a relay is at fault for, and what to do; by the reasons of docs/operating.md. */
const RELAY_FAULTS: Readonly<Record<string, string>> = {
  relay_auth: 'It refuses the log-in of GHOST_SMTP_URL, or asks for one that is not there.',
  relay_tls:
    'No secure connection can be made: it offers no STARTTLS, or its certificate is not valid. Mend that, or see GHOST_EXTRA_CA_FILE and GHOST_SMTP_TLS.',
  relay_dns: 'The name in GHOST_SMTP_URL cannot be resolved.',
  relay_unreachable: 'It cannot be reached, or ends the connection.',
  relay_silent: 'It does not answer in time.',
  relay_refused: 'It refuses the connection, or does not speak SMTP.',
  relay_closing: 'It is busy, or closes (421).',
  relay_deferred: 'It takes no mail for now.',
  sender_refused: 'It refuses the sender. Correct GHOST_MAIL_FROM or GHOST_VERP_DOMAIN.',
  relaying_denied:
    'It does not send for us. Let it know this machine, or give GHOST_SMTP_URL a log-in.',
  connection_lost: 'It ended the connection in the midst of the mail.',
  uncertain: 'It did not say whether it took the mail.',
};

interface Options {
  wait: number;
  json?: boolean;
}

export function addMailTest(mail: Command, context: Context): void {
  mail
    .command('test')
    .description('send a test mail through queue, delivery and relay, and tell each step')
    .argument('<address>', 'whom to send it to', readAddress)
    .option('--wait <seconds>', 'how long to watch it', readSeconds, DEFAULT_WAIT_S)
    .option('--json', 'print JSON: where it stood in the end')
    .addHelpText(
      'after',
      '\nExit code 0: the relay took it. 1: it did not, or nothing happened in time; the mail stays in the queue.\n\nExample:\n  npx ghost mail test ada@example.com',
    )
    .action((address: string, { wait, json = false }: Options) =>
      withPool(context, async (pool, settings) => {
        await refuseSuppressed(pool, address);
        const sender = mailSender({
          ...settings,
          publicUrl: settings.publicUrl ?? 'http://localhost',
        });
        const queue = createPostgresQueue({ pool });
        const now = context.now();
        const id = await enqueueTestMail(pool, queue, { address, sender, now });
        const tell = json ? () => undefined : (line: string) => context.note(line);
        tell(`Queued: mail ${id} from ${sender.address}, in the lane of its domain.`);
        const state = await follow(pool, id, wait * 1_000, tell);
        if (json) printJson(context, { jobId: id, ...shown(state) });
        else context.print(conclusion(state, wait));
        if (state.job.status !== 'delivered') context.fail();
      }),
    );
}

async function refuseSuppressed(pool: Pool, address: string): Promise<void> {
  const [found] = await listSuppressions(pool, { address, active: true, limit: 1 });
  if (found === undefined) return;
  throw new CommandError(
    `${address} gets no mail since ${formatTime(found.since)} (${found.reason}). To try it all the same: npx ghost mail suppressions lift ${address}`,
  );
}

/** Looks until the mail has ended, an attempt has failed, or the time is over. */
async function follow(
  pool: Pool,
  id: string,
  waitMs: number,
  tell: (line: string) => void,
): Promise<TestMailState> {
  const startedAt = performance.now();
  let told = '';
  let hinted = false;
  for (;;) {
    const state = await testMailState(pool, id);
    const elapsed = performance.now() - startedAt;
    const step = stepOf(state);
    if (step !== null && step !== told) tell(step);
    told = step ?? told;
    if (hasEnded(state) || elapsed >= waitMs) return state;
    if (!hinted && elapsed >= HINT_AFTER_MS && state.job.waiting === 'due') {
      hinted = true;
      tell(
        'Nobody has taken it yet. Does delivery run, with this database and GHOST_SMTP_URL set?',
      );
    }
    await delay(LOOK_EVERY_MS);
  }
}

function hasEnded({ job, attempts, relayRests }: TestMailState): boolean {
  if (job.status !== 'pending' || attempts.length > 0 || job.waiting === 'held') return true;
  // The rest is written first, and then what the relay said to this mail.
  return relayRests !== null && job.waiting !== 'in_flight';
}

function stepOf({ job, relayRests }: TestMailState): string | null {
  if (job.status !== 'pending') return null;
  if (relayRests !== null) {
    return `The relay rests until ${formatTime(relayRests.until)} (${relayRests.reason}): no mail is sent before.`;
  }
  switch (job.waiting) {
    case 'in_flight':
      return 'Delivery has it in hand, and talks to the relay.';
    case 'held':
      return `The lane of its domain is held: ${job.heldReason}.`;
    case 'resting':
      return 'The lane of its domain rests after failures.';
    case 'due':
    case 'scheduled':
    case null:
      return null;
    default:
      return assertNever(job.waiting);
  }
}

function conclusion(state: TestMailState, wait: number): string {
  const { job, relayRests } = state;
  const last = state.attempts.at(-1);
  if (job.status === 'delivered') {
    return `The relay took it${tookOf(last)}: ${last?.reply ?? 'without a word'}`;
  }
  const said = last?.message ?? last?.reply ?? '';
  const why = last === undefined ? '' : `${said} (${last.reason})`;
  if (job.status !== 'pending') return `It was not sent: ${why || (job.lastError ?? 'cancelled')}.`;
  if (relayRests !== null) {
    const again = `It is tried again at ${formatTime(later(job.runAt, relayRests.until))}.`;
    const [at, fault] = [relayRests.reason, RELAY_FAULTS[relayRests.reason]];
    return [`It was not sent yet: the relay itself is at fault (${at}).`, fault, said, again]
      .filter(Boolean)
      .join(' ');
  }
  if (job.waiting === 'held')
    return `It was not sent: resume its lane with "npx ghost lanes resume ${job.lane}".`;
  if (last !== undefined)
    return `It was not sent yet: ${why}. It is tried again at ${formatTime(job.runAt)}.`;
  return `Nothing happened within ${wait} s. The mail stays in the queue: npx ghost jobs show ${job.jobId}`;
}

/** A mail that the relay knew when it failed waits a little longer than the relay rests. */
function later(one: Date, other: Date): Date {
  return one > other ? one : other;
}

function tookOf(attempt: TestAttempt | undefined): string {
  return attempt?.tookMs == null ? '' : ` in ${Math.round(attempt.tookMs)} ms`;
}

function shown({ job, attempts, relayRests }: TestMailState) {
  const { status, waiting, lane, heldReason, lastError, runAt } = job;
  return { status, waiting, lane, heldReason, lastError, runAt, attempts, relayRests };
}

function readAddress(text: string): string {
  const complaint = checkEmail(text);
  if (complaint === null) return text;
  throw new InvalidArgumentError(complaint);
}

function readSeconds(text: string): number {
  return readWholeNumber(text, 1, MAX_WAIT_S);
}
