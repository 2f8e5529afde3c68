import { execFile, spawnSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { bounceAddress, parseKeyRing } from '@ghost/vault';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';

import { addDeliveredMail } from '../../../../test/support/delivered-mail.js';
import { docExample } from '../../../../test/support/doc-example.js';
import { startTestApi, type TestApi } from '../../../../test/support/test-api.js';

const KEYS = `a:${randomBytes(32).toString('base64')}`;
const SECRET = `whsec_${randomBytes(32).toString('base64')}`;

let api: TestApi;
/** Takes no reports: it has no secret. */
let closed: TestApi;

beforeAll(async () => {
  api = await startTestApi({
    env: { GHOST_SECRET_KEYS: KEYS, GHOST_MAIL_EVENTS_SECRET: SECRET },
  });
  closed = await startTestApi();
});
afterAll(() => Promise.all([api.stop(), closed.stop()]));

function pathOf(jobId: string): string {
  const parsed = parseKeyRing(KEYS);
  if (!parsed.ok) throw new Error('No key ring');
  return bounceAddress(parsed.ring, jobId, 'bounces.example');
}

const mailTo = (address: string) => addDeliveredMail(api.pool, address);
const bounce = (to: string) =>
  [
    `To: ${to}`,
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
    '',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.example',
    '',
    'Action: failed',
    'Status: 5.1.1',
    '',
    '--b--',
    '',
  ].join('\r\n');

interface Wish {
  secret?: string;
  at?: Date;
  type?: string;
  headers?: Record<string, string>;
  to?: TestApi;
  query?: string;
}

async function post(raw: string, wish: Wish = {}) {
  const { secret = SECRET, at = new Date(), type = 'message/rfc822', to = api, query = '' } = wish;
  const id = randomUUID();
  const signed = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, raw),
  };
  const response = await fetch(`${to.url}/api/mail/events${query}`, {
    method: 'POST',
    headers: { 'content-type': type, ...(wish.headers ?? signed) },
    body: raw,
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const suppressed = async (address: string) => {
  const { rowCount } = await api.pool.query('SELECT FROM mail_suppression WHERE address = $1', [
    address,
  ]);
  return rowCount === 1;
};

describe('a bounce that is signed by a stock library', () => {
  test('ends mail to its address, once and again', async () => {
    const jobId = await mailTo('Gone@people.example');
    for (let n = 0; n < 2; n += 1) {
      expect(await post(bounce(pathOf(jobId)))).toEqual({
        status: 200,
        body: {
          effect: 'suppressed',
          delivery: jobId,
          suppression: 'hard',
          reason: 'address_unknown',
        },
      });
    }
    expect(await suppressed('gone@people.example')).toBe(true);
  });

  test('is known by the recipient that the mail server names', async () => {
    const jobId = await mailTo('named@people.example');
    const query = `?recipient=${encodeURIComponent(pathOf(jobId))}`;
    expect((await post(bounce('x@y.example'), { query })).body).toMatchObject({ delivery: jobId });
  });

  test('counts for nothing without a return path of ours, or when its mail is gone', async () => {
    const ignored = { effect: 'ignored', delivery: null, suppression: null };
    expect(await post(bounce('x@y.example'))).toEqual({
      status: 200,
      body: { ...ignored, reason: 'no_valid_return_path' },
    });
    expect((await post(bounce(pathOf(randomUUID())))).body).toMatchObject({
      reason: 'unknown_mail',
    });
    expect((await post('Subject: Hi\r\n\r\nHi.')).body).toMatchObject({ reason: 'no_report' });
  });
});

const has = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;

test.runIf(has('openssl', 'version') && has('curl', '--version'))(
  'the example of the docs hands over a bounce, whatever bytes are in it',
  async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'ghost-report-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const message = path.join(folder, 'message');
    const jobId = await mailTo('told@people.example');
    const bytes = Buffer.from([0, 255, 13, 10, 64]);
    await writeFile(message, Buffer.concat([Buffer.from(bounce('x@y.example')), bytes]));
    const { stdout } = await promisify(execFile)('sh', ['-c', docExample('report.sh', 'mail.md')], {
      env: {
        PATH: process.env['PATH'] ?? '',
        GHOST: `${api.url}/api`,
        GHOST_MAIL_EVENTS_SECRET: SECRET,
        MESSAGE: message,
        RECIPIENT: pathOf(jobId),
      },
    });
    expect(JSON.parse(stdout)).toMatchObject({ effect: 'suppressed', delivery: jobId });
  },
);

describe('what is not signed', () => {
  test.each<[string, Wish]>([
    ['by this secret', { secret: `whsec_${randomBytes(32).toString('base64')}` }],
    ['of late', { at: new Date(Date.now() - 3_600_000) }],
    ['at all', { headers: {} }],
  ])('%s is refused, and changes nothing', async (_how, wish) => {
    const jobId = await mailTo('safe@people.example');
    const refused = await post(bounce(pathOf(jobId)), wish);
    expect(refused).toMatchObject({ status: 401, body: { code: 'bad_signature' } });
    expect(await suppressed('safe@people.example')).toBe(false);
  });
});

test('a message is taken nowhere else, nothing else is taken here, and nothing without a secret', async () => {
  expect((await post('{}', { type: 'application/json' })).status).toBe(415);
  expect((await post(bounce('x'), { to: closed })).status).toBe(404);
  expect((await post('x'.repeat(1_048_577))).status).toBe(413);
  expect((await post(bounce('x'), { query: '?other=1' })).status).toBe(422);
  const ada = await api.addPerson('ada');
  const elsewhere = await fetch(`${api.url}/api/user/repos`, {
    method: 'POST',
    headers: { 'content-type': 'message/rfc822', authorization: `Bearer ${ada.token}` },
    body: 'x',
  });
  expect(elsewhere.status).toBe(415);
  // GET is answered whatever it says of a body.
  const read = await fetch(`${api.url}/api/user`, {
    headers: { 'content-type': 'message/rfc822', authorization: `Bearer ${ada.token}` },
  });
  expect(read.status).toBe(200);
});
