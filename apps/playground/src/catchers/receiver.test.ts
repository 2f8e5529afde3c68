import { randomUUID } from 'node:crypto';
import { request } from 'node:http';

import { generateSecret, signWebhook } from '@ghost/signing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { waitUntil } from '../../../../test/support/wait-until.js';
import { strayLine, webhookLine } from '../announce.js';
import { type Answers, createAnswers } from './answers.js';
import { createControl } from './control.js';
import type { CaughtWebhook } from './inspect-webhook.js';
import type { MailShelf } from './mail-shelf.js';
import { type Receiver, startReceiver } from './receiver.js';

const SECRET = generateSecret();
const BODY = JSON.stringify({ text: '日本語 🎉 </script>' });

let receiver: Receiver;
let came: CaughtWebhook[];
let strays: string[];
let failing: (ordinal: number) => boolean;
let answers: Answers;

/** What the shelf says is for its own test. */
const EMPTY_SHELF: MailShelf = {
  add: () => Promise.reject(new Error('No mail comes here.')),
  lines: () => [],
  read: () => Promise.resolve(undefined),
};

function start(): Promise<Receiver> {
  return startReceiver({
    port: 0,
    answers,
    serve: createControl({
      answers,
      shelf: EMPTY_SHELF,
      catchesMails: true,
      hookPaths: ['/hooks/demo', '/hooks/other'],
      deadlineMs: 10_000,
    }),
    secretOf: (path) =>
      path === '/hooks/demo' || path === '/hooks/other'
        ? { secret: SECRET, at: 'demo.json' }
        : undefined,
    failsFirstTry: (ordinal) => failing(ordinal),
    onWebhook: (webhook) => came.push(webhook),
    onStray: ({ path }) => strays.push(path),
  });
}

beforeEach(async () => {
  came = [];
  strays = [];
  failing = () => false;
  answers = createAnswers();
  receiver = await start();
});
afterEach(() => receiver.stop());

interface Change {
  id?: string;
  body?: string;
  sentBody?: string;
  secret?: string;
  headers?: Record<string, string>;
  path?: string;
  signal?: AbortSignal;
}

async function post(change: Change = {}): Promise<number> {
  const response = await send(change);
  await response.text();
  return response.status;
}

async function send(change: Change = {}): Promise<Response> {
  const { id = randomUUID(), body = BODY, secret = SECRET, path = '/hooks/demo' } = change;
  const timestamp = Math.floor(Date.now() / 1000);
  return fetch(`${receiver.url}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'x-ghost-event': 'comment.created',
      'x-ghost-delivery': id,
      'x-ghost-hook-id': '7',
      'x-ghost-attempt': '1',
      ...signWebhook({ id, timestamp, body, secrets: [secret] }),
      ...change.headers,
    },
    body: change.sentBody ?? body,
    ...(change.signal === undefined ? {} : { signal: change.signal }),
  });
}

async function tell(word: string, path = '/answer'): Promise<{ status: number; text: string }> {
  const response = await fetch(`${receiver.url}${path}`, { method: 'PUT', body: word });
  return { status: response.status, text: await response.text() };
}

describe('the receiver', () => {
  test('accepts what both schemes verify, byte for byte', async () => {
    expect(await post()).toBe(200);
    expect(came).toMatchObject([
      { body: BODY, hookId: '7', signatures: { standard: 'ok', ghost: 'ok' }, problems: [] },
    ]);
  });

  test('refuses another secret, a changed byte and an old signature, and says which scheme failed', async () => {
    expect(await post({ secret: generateSecret() })).toBe(400);
    expect(await post({ sentBody: BODY.replace('🎉', '🎊') })).toBe(400);
    const id = randomUUID();
    const old = signWebhook({ id, timestamp: 1_600_000_000, body: BODY, secrets: [SECRET] });
    expect(await post({ id, headers: old })).toBe(400);
    expect(came.map((webhook) => webhook.signatures.standard)).toEqual([
      'no_match',
      'no_match',
      'timestamp_too_old',
    ]);
    expect(came.map((webhook) => webhook.signatures.ghost)).toEqual([
      'no_match',
      'no_match',
      'timestamp_too_old',
    ]);
  });

  test.each([
    ['x-ghost-attempt', '0'],
    ['x-ghost-event', ''],
    ['x-ghost-hook-id', 'seven'],
    ['x-ghost-delivery', 'no-id'],
    ['content-type', 'text/plain'],
  ])('finds fault with the header %s: "%s"', async (name, value) => {
    expect(await post({ headers: { [name]: value } })).toBe(400);
    expect(came[0]?.problems.join()).toContain(name);
  });

  test('fails the first try on purpose and takes the second, with the same bytes only', async () => {
    failing = (ordinal) => ordinal === 2;
    expect(await post()).toBe(200);
    const id = randomUUID();
    expect(await post({ id })).toBe(500);
    expect(await post({ id, headers: { 'x-ghost-attempt': '2' } })).toBe(200);
    expect(await post({ id, body: `${BODY} ` })).toBe(400);
    expect(came.at(-1)?.problems).toEqual(['its bytes differ from an earlier try']);
  });

  test('takes a hook of the person’s own without verifying it, and says so', async () => {
    expect(await post({ path: '/hooks/mine', secret: generateSecret() })).toBe(200);
    expect(came).toMatchObject([{ problems: [], secretAt: null }]);
    expect(came.map(webhookLine).join()).toMatch(/not verified: unknown secret +answered 200$/u);
  });

  test('tells which secret a webhook has to be signed with', async () => {
    await post({ secret: generateSecret() });
    expect(came.map(webhookLine).join()).toContain('expected is the secret demo.json');
  });

  test('reports what was posted where no hook is', async () => {
    for (const path of ['/mine', '/hooks/', '/hooks/demo/x'])
      expect(await post({ path })).toBe(404);
    expect(strays).toEqual(['/mine', '/hooks/', '/hooks/demo/x']);
    const line = strayLine({ path: '/mi\u001Bne', at: new Date() });
    expect(line).toMatch(/unknown path \/mi\S+ answered 404: known are \/hooks\/all-events/u);
    expect(line).not.toContain('\u001B');
  });

  test('says in two lines what it is', async () => {
    const lines = (await (await fetch(receiver.url)).text()).trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain('/hooks/demo, /hooks/other');
  });

  test('answers 413 to more than any webhook has', async () => {
    expect(await post({ sentBody: 'a'.repeat(3 * 1024 * 1024) }).catch(() => 413)).toBe(413);
    expect(came).toEqual([]);
  });
});

describe('told what to answer', () => {
  test.each([
    ['200', 200],
    ['500', 500],
    ['410', 410],
  ])(
    '%s: it answers that, whatever the script says, until it is told otherwise',
    async (word, status) => {
      failing = () => word === '200';
      expect(await tell(word)).toMatchObject({ status: 200 });
      expect(await post()).toBe(status);
      expect(await post()).toBe(status);
      expect(came.at(-1)).toMatchObject({ told: word, answered: status, problems: [] });
      failing = () => false;
      await tell('scripted');
      expect(await post()).toBe(200);
      expect(came.at(-1)).toMatchObject({ told: 'scripted' });
    },
  );

  test('302: it redirects to a place of its own', async () => {
    await tell('302');
    const response = await send();
    expect(response.status).toBe(302);
    expect(response.headers.get('location')).toBe('/elsewhere');
  });

  test('one hook alone; what is told to all then holds for that one too', async () => {
    expect((await tell('410', '/answer/hooks/demo')).text).toMatch(/^\/hooks\/demo: 410 \(gone/u);
    expect(await post()).toBe(410);
    expect(await post({ path: '/hooks/other' })).toBe(200);
    expect(await (await fetch(`${receiver.url}/answer`)).text()).toMatch(
      /^all hooks: scripted .*\n\/hooks\/demo: 410 /u,
    );
    await tell('500');
    expect(await post()).toBe(500);
    expect(await post({ path: '/hooks/other' })).toBe(500);
  });

  test('a word that is none is a 400 that lists the words, and changes nothing', async () => {
    await tell('410');
    for (const word of ['4l0', '', '410 500', '\u001B[2J']) {
      const refused = await tell(word);
      expect(refused.status).toBe(400);
      expect(refused.text).toContain('scripted, 200, 500, 410, 302, slow, hang');
      expect(refused.text).not.toContain('\u001B');
    }
    expect(await post()).toBe(410);
    expect((await tell('x'.repeat(1000)).catch(() => ({ status: 413 }))).status).toBe(413);
    const none = await tell('410', '/answer/hooks/none');
    expect(none.status).toBe(404);
    expect(none.text).toContain('/answer/hooks/demo');
    const deleted = await fetch(`${receiver.url}/answer`, { method: 'DELETE' });
    expect(deleted.status).toBe(405);
    expect(deleted.headers.get('allow')).toBe('GET, HEAD, PUT');
  });

  test.each([
    ['by a name of its own', { host: 'evil.example' }],
    ['as another site', { 'sec-fetch-site': 'cross-site' }],
    ['from another port of this machine', { 'sec-fetch-site': 'same-site' }],
    ['with an old browser', { origin: 'https://evil.example' }],
  ])('a page that reaches it %s is refused', async (_how, headers) => {
    const options = { method: 'PUT', headers: { ...headers, 'content-length': '3' } };
    const status = await new Promise((resolve, reject) => {
      request(`${receiver.url}/answer`, options, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end('410');
    });
    expect(status).toBe(403);
    expect(await post()).toBe(200);
  });

  test.each(['hang', 'slow'])(
    '%s: it keeps no socket of a sender that gave up, and stops at once while one waits',
    async (word) => {
      const sockets = () =>
        process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
      await tell(word);
      const before = sockets();
      const gaveUp = new AbortController();
      const first = send({ signal: gaveUp.signal }).catch(() => 'gave up');
      await waitUntil(() => came.length === 1, { what: 'the webhook' });
      gaveUp.abort();
      expect(await first).toBe('gave up');
      await waitUntil(() => sockets() <= before, { what: 'the end of its sockets' });

      const second = send().catch(() => 'cut');
      await waitUntil(() => came.length === 2, { what: 'the second webhook' });
      const startedAt = performance.now();
      await receiver.stop();
      expect(performance.now() - startedAt).toBeLessThan(1000);
      expect(await second).toBe('cut');
      expect(came.map((webhook) => webhook.answered)).toEqual(
        word === 'hang' ? [0, 0] : [200, 200],
      );
      receiver = await start();
    },
  );
});
