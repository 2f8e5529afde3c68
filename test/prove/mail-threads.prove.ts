import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';

import { addAccount } from '@ghost/operations';
import { simpleParser } from 'mailparser';

import { type ApiClient, apiClient } from '../support/api-client.js';
import { freePort, startDelivery, testEnvironment } from '../support/ghost-processes.js';
import { type MailCatcher, startMailCatcher } from '../support/mail-catcher.js';
import {
  headerBytes,
  MOST_HEADER_BYTES,
  MOST_LINE_BYTES,
  refusedByLimits,
} from '../support/mail-limits.js';
import { type ProofRow, row, startProofApi, startProofDatabase } from '../support/proof-world.js';
import { type Stops, withStops } from '../support/stops.js';
import { threadByJwz } from '../support/thread-by-jwz.js';

export const name =
  'A thread of 300 comments is one thread to each of its readers, also one who is late';

const COMMENTS = 300;
/** After so many the late reader comes. */
const LATE_AFTER = 150;
/** The mail of this comment to one reader is deferred once. */
const DEFERRED_COMMENT = 100;
/** A deferred mail goes again within a minute. */
const ALL_WITHIN_MS = 120_000;
/** The longest that people may be called, and threads: 255 and 256 characters. */
const LONG_NAME = '👩‍👩‍👧‍👦'.repeat(36);
const LONG_TITLE = `Größe, "Länge" <x> 字 ${'🎉'.repeat(230)}`;
const DKIM_BITS = 2_048;

type Reader = 'brian' | 'cleo' | 'dora';
const GOT: Record<Reader, number> = {
  brian: COMMENTS + 1,
  cleo: COMMENTS + 1,
  dora: COMMENTS - LATE_AFTER,
};

interface Relay extends MailCatcher {
  refused: string[];
  deferred: number;
}

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const relay = await startStrictRelay(stops);
    await discuss(await start(stops, relay), relay);
    const wanted = Object.values(GOT).reduce((sum, each) => sum + each);
    await relay.waitForMails(wanted, ALL_WITHIN_MS);
    yield* eachHasOneThread(relay);
    yield row(
      `mails refused: a line over ${MOST_LINE_BYTES} bytes, a header over ${MOST_HEADER_BYTES}`,
      [...relay.refused.slice(0, 1), String(relay.refused.length)].join(': '),
      '0',
      relay.refused.length === 0,
    );
    const largest = Math.max(...relay.mails().map(({ raw }) => headerBytes(raw)));
    yield row(
      'the largest header, with names and title at their longest, signed',
      `${largest.toLocaleString('en')} bytes`,
      `≤ ${MOST_HEADER_BYTES.toLocaleString('en')} bytes`,
      largest <= MOST_HEADER_BYTES,
    );
    yield row(
      'mails deferred, and sent all the same',
      String(relay.deferred),
      '1',
      relay.deferred === 1,
    );
  });
}

async function* eachHasOneThread(relay: Relay): AsyncGenerator<ProofRow> {
  for (const [reader, count] of Object.entries(GOT)) {
    const mails = relay.mails().filter(({ envelope }) => envelope.to[0]?.startsWith(reader));
    const ids = await Promise.all(
      mails.map(async ({ raw }) => (await simpleParser(raw)).messageId ?? ''),
    );
    const threads = await threadByJwz(mails.map(({ raw }) => raw));
    yield row(
      `threads of ${reader}, with their mails, by Mail::Thread`,
      threads.join(', '),
      `one, of ${count}, each with an id of its own`,
      threads.length === 1 && threads[0] === count && new Set(ids).size === count,
    );
  }
}

async function startStrictRelay(stops: Stops): Promise<Relay> {
  const seen = { refused: [] as string[], deferred: 0 };
  const catcher = await startMailCatcher({
    onData: async ({ raw, envelope }) => {
      const refusal = refusedByLimits(raw);
      if (refusal) {
        seen.refused.push(refusal.text);
        return refusal;
      }
      if (seen.deferred > 0 || !envelope.to[0]?.startsWith('cleo')) return undefined;
      const { text = '' } = await simpleParser(raw);
      if (!text.startsWith(`Comment ${DEFERRED_COMMENT}.`)) return undefined;
      seen.deferred += 1;
      return { code: 451, text: '4.3.0 Later' };
    },
  });
  stops.add(() => catcher.stop());
  return Object.assign(seen, catcher);
}

type People = Record<Reader | 'ada', ApiClient>;

async function start(stops: Stops, relay: Relay): Promise<People> {
  const { url, pool, folder } = await startProofDatabase(stops);
  const key = path.join(path.dirname(folder), 'dkim.pem');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: DKIM_BITS });
  await writeFile(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const env = {
    GHOST_SMTP_URL: relay.url,
    GHOST_DKIM_DOMAIN: 'ghost.example',
    GHOST_DKIM_SELECTOR: '2026a',
    GHOST_DKIM_KEY_FILE: key,
  };
  const api = await startProofApi(stops, url, env);
  const delivery = await startDelivery(await freePort(), testEnvironment(url, env));
  stops.add(() => delivery.stop());
  const person = async (login: string) => {
    const email = `${login}@readers.example`;
    const { token } = await addAccount(pool, { login, email, name: LONG_NAME });
    return apiClient(api.url, token);
  };
  return {
    ada: await person('ada'),
    brian: await person('brian'),
    cleo: await person('cleo'),
    dora: await person('dora'),
  };
}

async function discuss({ ada, brian, cleo, dora }: People, relay: Relay): Promise<void> {
  await ada.expect(201, 'POST', '/user/repos', { name: 'r'.repeat(100), private: false });
  const place = `/repos/ada/${'r'.repeat(100)}`;
  const watch = (reader: ApiClient) =>
    reader.expect(200, 'PUT', `${place}/subscription`, { subscribed: true });
  await watch(brian);
  await watch(cleo);
  await ada.expect(201, 'POST', `${place}/threads`, { title: LONG_TITLE, body: 'Start' });
  for (let n = 1; n <= COMMENTS; n += 1) {
    await ada.expect(201, 'POST', `${place}/threads/1/comments`, { body: `Comment ${n}.` });
    if (n === LATE_AFTER) {
      // Of both readers but what is deferred: fan-out has passed, and the late one gets no mail of these.
      await relay.waitForMails(2 * (n + 1) - 1, ALL_WITHIN_MS);
      await watch(dora);
    }
  }
}
