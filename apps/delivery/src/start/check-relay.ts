import { setTimeout as delay } from 'node:timers/promises';

import { StartError } from '@ghost/operations';
import { EXIT } from '@ghost/settings';

import { isTlsFault } from '../rules/network-fault.js';

/** A relay that starts at the same moment gets so long; then the start fails. */
const REACHED_WITHIN_MS = 5_000;
const AGAIN_AFTER_MS = 250;

export type RelayCheck =
  | { state: 'works' }
  /** It answered, and refuses us: it rests, and webhooks go on. */
  | { state: 'refuses'; reason: string; code: number };

/**
 * Talks to the relay once, log-in included, before the process says that it works.
 *
 * @throws StartError 69 when it cannot be reached, or offers no TLS where TLS is required
 */
export async function checkRelay(
  verify: () => Promise<unknown>,
  place: { host: string; port: number },
  withinMs = REACHED_WITHIN_MS,
): Promise<RelayCheck> {
  const giveUpAt = performance.now() + withinMs;
  for (;;) {
    const fault = await faultOf(verify);
    if (!fault) return { state: 'works' };
    if (fault.code === 'ETLS' || isTlsFault(fault.socketCode)) throw noTls(place, fault.error);
    // A reply is reach: a relay that is busy, or a rotated password, must not stop webhooks too.
    if (fault.reply !== undefined) {
      const reason = fault.code === 'EAUTH' ? 'relay_auth' : 'relay_refused';
      return { state: 'refuses', reason, code: fault.reply };
    }
    if (performance.now() + AGAIN_AFTER_MS >= giveUpAt) throw outOfReach(place, fault);
    await delay(AGAIN_AFTER_MS);
  }
}

interface Fault {
  error: unknown;
  code: string;
  socketCode: string | undefined;
  reply: number | undefined;
}

async function faultOf(verify: () => Promise<unknown>): Promise<Fault | undefined> {
  try {
    await verify();
    return undefined;
  } catch (error) {
    const read = (name: string): unknown =>
      error instanceof Error ? Reflect.get(error, name) : undefined;
    const [code, original, reply] = [read('code'), read('originalCode'), read('responseCode')];
    return {
      error,
      code: typeof code === 'string' ? code : 'EUNKNOWN',
      socketCode: typeof original === 'string' ? original : undefined,
      reply: typeof reply === 'number' ? reply : undefined,
    };
  }
}

function outOfReach({ host, port }: { host: string; port: number }, fault: Fault): StartError {
  return new StartError(
    EXIT.unavailable,
    `The mail relay at ${host}:${port} is out of reach (${fault.socketCode ?? fault.code}). Start it, correct GHOST_SMTP_URL, or remove GHOST_SMTP_URL: mails then wait and webhooks go out.`,
    { cause: fault.error },
  );
}

function noTls({ host, port }: { host: string; port: number }, cause: unknown): StartError {
  return new StartError(
    EXIT.unavailable,
    `No secure connection can be made with the mail relay at ${host}:${port}: it offers no STARTTLS, or its certificate is not valid for "${host}". Mend that (GHOST_EXTRA_CA_FILE trusts an authority of your own), or set GHOST_SMTP_TLS=off for a relay in a network that you trust.`,
    { cause },
  );
}
