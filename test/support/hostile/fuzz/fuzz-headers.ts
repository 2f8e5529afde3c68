import { checkHeader } from '@ghost/policy';
import fc from 'fast-check';

import { openWebhookSender } from '../../open-webhook-sender.js';
import { startRawServer } from '../../raw-server.js';
import { onRequest } from '../on-request.js';
import { headerName, headerValue } from './header-inputs.js';

/** Drawn together, from one seed; the next batch has the next. */
const BATCH = 500;
const MOST_FAULTS = 20;
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
/** Written again here, as a rule that is checked by itself is not checked. */
const NEVER_OURS_TO_LET_BE_SET =
  /^(?:host|content[-_](?:length|type|encoding)|transfer[-_]encoding|connection|keep[-_]alive|expect|te|trailer|upgrade|date|via|user[-_]agent|accept[-_]encoding|traceparent|proxy[-_].*|x[-_]ghost[-_].*|webhook[-_].*|x[-_]forwarded[-_].*|x[-_]hub[-_]signature.*|metadata(?:[-_]flavor)?)$/iu;
const TOKEN = /^[!#$%&'*+\-.^_`|~\dA-Za-z]+$/u;

export interface FuzzedHeaders {
  tried: number;
  /** Let through by the check, and sent. */
  sent: number;
  longestCheckMs: number;
  faults: string[];
}

/** Judges random custom headers; those that may be set are sent, and must be one line of the head, and nothing else. */
export async function fuzzHeaders({
  seed,
  forMs,
}: {
  seed: number;
  forMs: number;
}): Promise<FuzzedHeaders> {
  let heads: string[] = [];
  const server = await startRawServer((socket) =>
    onRequest(socket, (head) => {
      heads.push(head);
      socket.write(ANSWER);
    }),
  );
  const sender = openWebhookSender();
  const url = `http://127.0.0.1:${server.port}/`;
  const linesOf = async (headers: readonly (readonly [string, string])[]) => {
    heads = [];
    const { outcome } = await sender.send(url, { hook: { headers } });
    if (outcome.verdict !== 'delivered' || heads.length !== 1) {
      throw new Error(`${heads.length} requests, ${outcome.verdict}`);
    }
    return heads[0]?.split('\r\n') ?? [];
  };
  const seen: FuzzedHeaders = { tried: 0, sent: 0, longestCheckMs: 0, faults: [] };
  try {
    const plain = namesOf(await linesOf([]));
    const endsAt = performance.now() + forMs;
    for (let batch = 0; performance.now() < endsAt; batch += 1) {
      const pairs = fc.sample(fc.tuple(headerName, headerValue), {
        numRuns: BATCH,
        seed: seed + batch,
      });
      for (const [name, value] of pairs) {
        const fault = await faultOf(name, value, plain, linesOf, seen);
        if (fault !== null && seen.faults.length < MOST_FAULTS) {
          seen.faults.push(
            `${JSON.stringify(name)}: ${JSON.stringify(value).slice(0, 100)}: ${fault}`,
          );
        }
      }
    }
    return seen;
  } finally {
    sender.close();
    await server.stop();
  }
}

async function faultOf(
  name: string,
  value: string,
  plain: readonly string[],
  linesOf: (headers: readonly (readonly [string, string])[]) => Promise<string[]>,
  seen: FuzzedHeaders,
): Promise<string | null> {
  seen.tried += 1;
  const startedAt = performance.now();
  try {
    const { ok } = checkHeader(name, value);
    seen.longestCheckMs = Math.max(seen.longestCheckMs, performance.now() - startedAt);
    if (!ok) return null;
    if (!TOKEN.test(name) || NEVER_OURS_TO_LET_BE_SET.test(name)) return 'such a name may be set';
    const lines = await linesOf([[name, value]]);
    seen.sent += 1;
    const own = namesOf(lines).filter((one) => one === name.toLowerCase()).length;
    if (!lines.includes(`${name}: ${value}`) || own !== 1) return `it came ${own} times`;
    const others = namesOf(lines).filter((one) => one !== name.toLowerCase());
    const expected = plain.filter((one) => one !== name.toLowerCase());
    return others.join() === expected.join() ? null : `the others came as ${others.join()}`;
  } catch (error) {
    return `it threw ${String(error)}`;
  }
}

/** The names of a head's fields, in a fixed order. */
function namesOf(lines: readonly string[]): string[] {
  return lines
    .slice(1)
    .map((line) => line.slice(0, line.indexOf(':')).toLowerCase())
    .toSorted();
}
