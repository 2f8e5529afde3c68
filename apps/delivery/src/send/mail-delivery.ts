import { createSuppressions } from '@ghost/operations';
import type { Queue, Sql } from '@ghost/queue';
import type { Settings } from '@ghost/settings';
import { bounceAddress } from '@ghost/vault';
import type { createTransport } from 'nodemailer';
import type { Logger } from 'pino';

import type { DeliveryParts } from '../deliver.js';
import { type RelayPauses, relayPausesMs } from '../rules/relay-pause.js';
import { checkRelay } from '../start/check-relay.js';
import { smtpOptions } from '../start/smtp-options.js';
import { prepareMails, recipientOf } from './prepare-mails.js';
import { Relay, type RelayOptions } from './relay.js';
import { RelayRate } from './relay-rate.js';
import { type SmtpTimes, trackProgress } from './smtp-session.js';
import { isUnknownForLong } from './unknown-domain.js';

/** Mails at once: a relay shares its own limits with others. */
const MAIL_CONNECTIONS = 10;

export interface MailDeliveryOptions {
  settings: Settings<'delivery'>;
  smtp: NonNullable<Settings<'delivery'>['smtp']>;
  sql: Sql;
  queue: Queue;
  createTransport: typeof createTransport;
  /** The relay's rest is over. */
  onRested: () => void;
  now: () => number;
  monotonic: () => number;
  log: Logger;
  /** Deadlines of a session, and how long the relay rests; left out: those of production. */
  times?: SmtpTimes;
  pauses?: RelayPauses;
}

export interface MailDelivery extends Pick<DeliveryParts, 'prepare' | 'restRelay' | 'suppress'> {
  /** How many mails may be in hand now. */
  capacity: () => number;
  /** Talks to the relay once; throws a StartError when it is out of reach. */
  check: () => Promise<void>;
  close: () => void;
}

/** These do not pass by themselves: somebody must mend the settings or the relay. */
const ALARMING: ReadonlySet<string> = new Set([
  'relay_auth',
  'relay_tls',
  'sender_refused',
  'relaying_denied',
]);
/** Whatever it is, after so many rests in a row it has not passed for minutes. */
const ALARMING_FAILURES = 5;

/** What the operator's log says of the relay: a line a rest, and one when it is over. */
export function relayLines(log: Logger): Required<Pick<RelayOptions, 'onRest' | 'onWorks'>> {
  return {
    onRest: (reason, pauseMs, failures) => {
      const level = ALARMING.has(reason) || failures >= ALARMING_FAILURES ? 'error' : 'warn';
      log[level](
        { event: 'delivery.relay_rests', reason, pauseMs, failures },
        'The mail relay is at fault: mails wait, and one tries it again after this rest',
      );
    },
    onWorks: (failures) => log.info({ event: 'delivery.relay_works', failures }),
  };
}

/** All that mails take. A module of its own, which is loaded only where there is a relay. */
export function createMailDelivery(options: MailDeliveryOptions): MailDelivery {
  const { settings, smtp, sql, queue, now, monotonic, log, onRested } = options;
  const transport = options.createTransport(smtpOptions(settings, smtp, MAIL_CONNECTIONS));
  trackProgress(transport);
  const relay = new Relay({
    connections: MAIL_CONNECTIONS,
    pause: (reason) => queue.pauseRelay(reason, relayPausesMs(options.pauses)),
    pauses: options.pauses,
    monotonic,
    onRested,
    ...relayLines(log),
  });
  const suppressions = createSuppressions(sql);
  const { relayRate, verpDomain, keyRing } = settings;
  const rate = relayRate ? new RelayRate({ rate: relayRate, queue, monotonic }) : undefined;
  return {
    prepare: prepareMails({
      ...{ transport, relay, queue, suppressions, now, monotonic },
      turn: rate && ((stop) => rate.turn(stop)),
      ...(options.times ? { times: options.times } : {}),
      returnPath: verpDomain === null ? undefined : (id) => bounceAddress(keyRing, id, verpDomain),
    }),
    restRelay: (reason) => relay.rest(reason),
    suppress: async (job, { suppression, reason }) => {
      if (!suppression) return;
      if (reason === 'domain_unknown' && !(await isUnknownForLong(sql, job.id, now()))) return;
      await suppressions.note(recipientOf(job), suppression, reason ?? 'refused');
    },
    capacity: () => relay.capacity,
    check: async () => {
      const check = await checkRelay(() => transport.verify(), smtp);
      if (check.state === 'works') return;
      log.error(
        { event: 'delivery.relay_refuses', reason: check.reason, code: check.code },
        'The mail relay answers, and refuses: mails wait and are tried again. Correct GHOST_SMTP_URL, or mend the relay.',
      );
      // Kept in this process all the same, and stored at the next fault.
      await relay
        .rest(check.reason)
        .catch((error: unknown) => log.error({ event: 'delivery.rest_relay_failed', err: error }));
    },
    close: () => transport.close(),
  };
}
