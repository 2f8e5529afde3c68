import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { keyRingOf } from '../../../../../test/support/key-ring-of.js';
import { type Person, startTestApi, type TestApi } from '../../../../../test/support/test-api.js';
import { UnsubscribeTokens } from '../../unsubscribe/unsubscribe-tokens.js';
import { VerificationTokens } from './verification-tokens.js';

const KEYS = `test:${randomBytes(32).toString('base64')}`;
const HOUR_MS = 3_600_000;

let testApi: TestApi;
let tokens: VerificationTokens;
let unsubscribes: UnsubscribeTokens;
let ann: Person;
let people = 0;
/** An unverified address of Ann's, its row and the token that was mailed to it. */
let address: string;
let addressId: number;
let token: string;

beforeAll(async () => {
  testApi = await startTestApi({ env: { GHOST_SECRET_KEYS: KEYS } });
  const keyRing = keyRingOf(KEYS);
  tokens = new VerificationTokens({ keyRing });
  unsubscribes = new UnsubscribeTokens({ keyRing });
});
afterAll(() => testApi.stop());
beforeEach(async () => {
  people += 1;
  ann = await testApi.addPerson(`ann-${people}`);
  address = `o'neil&co-${people}@mail.example`;
  await ann.ask('POST', '/user/emails', [address]);
  const payload = (await testApi.eventsOf('address.added')).at(-1);
  addressId = payload.address_id;
  token = String(payload.verification_url).split('/').at(-1) ?? '';
});

const call = (of: string, init: RequestInit = {}) =>
  fetch(`${testApi.url}/api/verify-address/${of}`, init);

async function isVerified(): Promise<boolean | undefined> {
  const { body } = await ann.ask('GET', '/user/emails');
  return body.find(({ email }: { email: string }) => email === address)?.verified;
}

describe('looking at the link, as a mail scanner does', () => {
  test('shows a page with a button that names account and address, and changes nothing', async () => {
    for (let times = 0; times < 3; times += 1) {
      const response = await call(token);
      expect(response.status).toBe(200);
      const page = await response.text();
      expect(page).toContain('<form method="post">');
      expect(page).toContain(ann.login);
      expect(page).toContain(`o&#39;neil&amp;co-${people}@mail.example`);
      expect(page).not.toMatch(/<script|<img|href=|src=/u);
    }
    expect((await call(token, { method: 'HEAD' })).status).toBe(200);
    expect(await isVerified()).toBe(false);
  });

  test('lets nothing run, load, frame or keep the page', async () => {
    const { headers } = await call(token);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toBe('no-store');
  });
});

describe('pressing the button', () => {
  test('verifies the address without signing in; again it says the same', async () => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: '',
    };
    for (let times = 0; times < 2; times += 1) {
      const response = await call(token, init);
      expect(response.status).toBe(200);
      expect(await response.text()).toContain('verified');
      expect(await isVerified()).toBe(true);
    }
    expect(await (await call(token)).text()).not.toContain('<form');
    const { rows } = await testApi.pool.query(
      `SELECT actor, token_id FROM audit_entry WHERE action = 'address.verified' AND subject_id = $1`,
      [ann.id],
    );
    expect(rows).toEqual([{ actor: ann.login, token_id: null }]);
  });

  test('does nothing once the link has expired', async () => {
    const old = tokens.sign({ addressId, expiresAt: new Date(Date.now() - 1000) });
    for (const method of ['GET', 'POST']) {
      const response = await call(old, { method });
      expect(response.status).toBe(404);
      expect(await response.text()).toContain('expired');
    }
    expect(await isVerified()).toBe(false);
  });

  test('does nothing for an address that was removed, though it was added again', async () => {
    await ann.ask('DELETE', '/user/emails', [address]);
    expect((await call(token, { method: 'POST' })).status).toBe(404);
    await ann.ask('POST', '/user/emails', [address]);
    expect((await call(token, { method: 'POST' })).status).toBe(404);
    expect(await isVerified()).toBe(false);
  });

  test('does nothing for a token of another purpose, a forged or a cut one', async () => {
    const end = Math.floor((Date.now() + HOUR_MS) / 1000);
    const others = [
      unsubscribes.sign({ threadId: addressId, accountId: end }),
      `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
      token.slice(0, -2),
      'x',
      '%00',
    ];
    for (const other of others) {
      expect((await call(other, { method: 'POST' })).status).toBe(404);
      expect((await call(other)).status).toBe(404);
    }
    expect(unsubscribes.verify(token)).toBeNull();
    expect(await isVerified()).toBe(false);
  });
});

describe('a verification token', () => {
  test('lasts 72 hours: longer than its mail is tried', () => {
    const claim = tokens.verify(token, new Date());
    expect(claim).toMatchObject({ addressId, expired: false });
    const life = Number(claim?.expiresAt.getTime()) - Date.now();
    expect(life).toBeGreaterThan(71.9 * HOUR_MS);
    expect(life).toBeLessThanOrEqual(72 * HOUR_MS);
    expect(tokens.verify(token, claim?.expiresAt ?? new Date(0))).toMatchObject({ expired: true });
  });
});
