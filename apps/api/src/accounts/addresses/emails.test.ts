import { explainEvent, listAudit } from '@ghost/operations';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import {
  type Json,
  type Person,
  PUBLIC_URL,
  startTestApi,
  type TestApi,
} from '../../../../../test/support/test-api.js';
import { waitUntil } from '../../../../../test/support/wait-until.js';

let testApi: TestApi;
let ann: Person;
let people = 0;
let primary: string;

beforeAll(async () => {
  testApi = await startTestApi();
});
afterAll(() => testApi.stop());
beforeEach(async () => {
  people += 1;
  ann = await testApi.addPerson(`ann-${people}`);
  primary = `${ann.login}@people.example`;
});

const add = (...emails: string[]) => ann.ask('POST', '/user/emails', { emails });
const shown = async () => (await ann.ask('GET', '/user/emails')).body;
const own = (name: string) => `${name}-${people}@mail.example`;
const entry = (email: string, more: object = {}) => ({
  email,
  primary: false,
  verified: false,
  visibility: null,
  ...more,
});
const verifyByHand = (email: string) =>
  testApi.pool.query('UPDATE email_address SET verified_at = now() WHERE address = $1', [email]);

/** The events of Ann's addresses, oldest first. */
async function events(): Promise<{ id: string; payload: Json }[]> {
  const { rows } = await testApi.pool.query<{ id: string; payload: Json }>(
    `SELECT id, payload FROM outbox_event WHERE type = 'address.added'
       AND payload #>> '{account,login}' = $1 ORDER BY created_at, id`,
    [ann.login],
  );
  return rows;
}

/** What became of an event, once it is fanned out. */
async function fannedOut(id: string) {
  return waitUntil(
    async () => {
      const explained = await explainEvent(testApi.pool, id);
      return explained?.processedAt ? explained : undefined;
    },
    { what: 'the event to be fanned out' },
  );
}

describe('adding addresses', () => {
  test('shows them unverified, and makes one finished mail with a link for each', async () => {
    const [one, two] = [own('one'), own('Two')];
    const added = await add(one, two);
    expect(added.status).toBe(201);
    expect(added.body).toEqual([entry(one), entry(two)]);
    expect(await shown()).toEqual([
      entry(primary, { primary: true, verified: true, visibility: 'private' }),
      entry(one),
      entry(two),
    ]);
    const published = await events();
    expect(published.map(({ payload }) => payload.address)).toEqual([one, two]);
    expect(published[0]?.payload.verification_url).toMatch(
      new RegExp(`^${PUBLIC_URL}/api/verify-address/[A-Za-z0-9_-]+$`, 'u'),
    );
    const explained = await fannedOut(String(published[1]?.id));
    expect(explained).toMatchObject({
      repository: null,
      counts: { pending: 1 },
      deliveries: [{ kind: 'email', lane: 'mail:mail.example' }],
      skips: [],
    });
  });

  test.each([
    ['a bare array', (email: string) => [email]],
    ['one bare address', (email: string) => email],
    ['twice, in another case', (email: string) => ({ emails: [email, email.toUpperCase()] })],
  ])('takes them as %s', async (_what, body) => {
    const email = own('form');
    const answer = await ann.ask('POST', '/user/emails', JSON.stringify(body(email)));
    expect(answer.status).toBe(201);
    expect(await shown()).toHaveLength(2);
    expect(await events()).toHaveLength(1);
  });

  test('again sends another mail for one that waits, and refuses one that is verified', async () => {
    await add(own('waits'));
    expect((await add(own('WAITS'))).body).toEqual([entry(own('waits'))]);
    expect(await events()).toHaveLength(2);
    const refused = await add(primary.toUpperCase());
    expect(refused).toMatchObject({
      status: 422,
      body: { code: 'already_exists', errors: [{ field: 'emails.0', code: 'already_exists' }] },
    });
  });

  test('adds all or none', async () => {
    const refused = await add(own('fine'), primary);
    expect(refused.body.errors[0].field).toBe('emails.1');
    expect(await shown()).toHaveLength(1);
    expect(await events()).toEqual([]);
  });

  test('stops at ten', async () => {
    expect((await add(...Array.from({ length: 9 }, (_, n) => own(`n${n}`)))).status).toBe(201);
    expect(await add(own('more'))).toMatchObject({ status: 422, body: { code: 'too_many' } });
  });

  test('refuses one that is suppressed, as its mail would not be sent', async () => {
    await testApi.pool.query(
      `INSERT INTO mail_suppression (address, reason, since) VALUES ($1, 'address_unknown', now())`,
      [own('bounced')],
    );
    expect(await add(own('Bounced'))).toMatchObject({
      status: 422,
      body: { code: 'suppressed_address' },
    });
  });

  test.each<[string, string, unknown]>([
    ['emails', 'missing_field', {}],
    ['emails', 'invalid', { emails: [] }],
    ['emails', 'invalid', []],
    ['emails', 'invalid', { emails: Array.from({ length: 11 }, (_, n) => `n${n}@x.example`) }],
    ['emails.0', 'invalid', ['nobody']],
    ['emails.0', 'invalid', ['root@localhost']],
    ['emails.0', 'invalid', { emails: [7] }],
    ['emails.0', 'invalid', { emails: ['a@x.example\r\nBcc: b@x.example'] }],
    ['emails.0', 'invalid', { emails: ['a@x.example\n'] }],
    ['emails.0', 'invalid', { emails: ['a\0@x.example'] }],
    ['emails.0', 'invalid', { emails: [`a@${'x.'.repeat(130)}example`] }],
    ['emails.0', 'invalid', { emails: ['ä@x.example'] }],
    ['emails.0', 'invalid', { emails: ['"a b"@x.example'] }],
    ['extra', 'unknown_field', { emails: ['a@x.example'], extra: 1 }],
  ])('names %s (%s) of %j', async (field, code, body) => {
    const answer = await ann.ask('POST', '/user/emails', body);
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toEqual(
      expect.arrayContaining([{ field, code, message: expect.any(String) }]),
    );
    expect(JSON.stringify(answer.body).length).toBeLessThan(1000);
  });
});

describe('strangers are not bombed', () => {
  test('an account causes ten verification mails an hour, however it goes about it', async () => {
    for (let n = 0; n < 5; n += 1) {
      expect((await add(own('victim'))).status).toBe(201);
      expect((await add(own(`other-${n}`))).status).toBe(201);
      const gone = await ann.ask('DELETE', '/user/emails', { emails: [own('victim')] });
      expect(gone.status).toBe(204);
    }
    const tries = await Promise.all([add(own('victim')), add(own('another'))]);
    for (const refused of tries) {
      expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_mails' } });
      const seconds = Number(refused.headers.get('retry-after'));
      expect(seconds).toBeGreaterThan(3500);
      expect(seconds).toBeLessThanOrEqual(3600);
    }
    expect(await events()).toHaveLength(10);
    expect((await shown()).map(({ email }: { email: string }) => email)).not.toContain(
      own('victim'),
    );
    // Another account has its own count.
    const ben = await testApi.addPerson(`ben-${people}`);
    expect((await ben.ask('POST', '/user/emails', [own('ben')])).status).toBe(201);
  });

  test('requests at once are counted too, and the hour passes', async () => {
    const answers = await Promise.all(Array.from({ length: 14 }, () => add(own('victim'))));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(4);
    await testApi.pool.query(
      `UPDATE audit_entry SET at = at - interval '59 minutes 30 seconds' WHERE subject_id = $1`,
      [ann.id],
    );
    const soon = await add(own('victim'));
    expect(Number(soon.headers.get('retry-after'))).toBeLessThanOrEqual(30);
    await testApi.pool.query(
      `UPDATE audit_entry SET at = at - interval '30 seconds' WHERE subject_id = $1`,
      [ann.id],
    );
    expect((await add(own('victim'))).status).toBe(201);
  });
});

test('retry-after is when as many mails are past their hour as are asked for', async () => {
  for (let times = 0; times < 10; times += 1) await add(own('victim'));
  // Five minutes between them: the oldest went out 50 minutes ago.
  await testApi.pool.query(
    `UPDATE audit_entry a SET at = now() - r.newest * interval '5 minutes'
     FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS newest FROM audit_entry
           WHERE subject_id = $1 AND action = 'address.verification_sent') r WHERE a.id = r.id`,
    [ann.id],
  );
  const seconds = async (...names: string[]) =>
    Number((await add(...names.map(own))).headers.get('retry-after'));
  expect(Math.round((await seconds('victim')) / 60)).toBe(10);
  expect(Math.round((await seconds('victim', 'other', 'third')) / 60)).toBe(20);
});

describe('the primary address', () => {
  test('becomes another that is verified', async () => {
    await add(own('next'));
    await verifyByHand(own('next'));
    const answer = await ann.ask('PATCH', '/user/emails/primary', { email: own('NEXT') });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual([
      entry(primary, { verified: true }),
      entry(own('next'), { primary: true, verified: true, visibility: 'private' }),
    ]);
    expect(await shown()).toEqual(answer.body);
    expect((await listAudit(testApi.pool, { account: ann.login }))[0]).toMatchObject({
      action: 'address.made_primary',
      actor: ann.login,
      tokenId: expect.any(Number),
    });
  });

  test('stays when the other is unverified, suppressed or absent', async () => {
    await add(own('waits'), own('bounced'));
    await verifyByHand(own('bounced'));
    await testApi.pool.query(
      `INSERT INTO mail_suppression (address, reason, since) VALUES ($1, 'address_unknown', now())`,
      [own('bounced')],
    );
    const to = (email: string) => ann.ask('PATCH', '/user/emails/primary', { email });
    expect(await to(own('waits'))).toMatchObject({
      status: 422,
      body: { code: 'unverified_address' },
    });
    expect(await to(own('bounced'))).toMatchObject({
      status: 422,
      body: { code: 'suppressed_address' },
    });
    expect((await to(own('absent'))).status).toBe(404);
    expect(await to('nonsense')).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'email' }] },
    });
    expect((await shown())[0]).toMatchObject({ email: primary, primary: true });
  });

  test('cannot be removed, and the answer says what to do', async () => {
    const refused = await ann.ask('DELETE', '/user/emails', { emails: [primary] });
    expect(refused).toMatchObject({ status: 422, body: { code: 'primary_address' } });
    expect(refused.body.message).toContain('Make another verified address the primary one first');
  });
});

describe('removing addresses', () => {
  test('takes all or none, and cancels the mail that waits', async () => {
    await add(own('one'), own('two'));
    const [first] = await events();
    await fannedOut(String(first?.id));
    const none = await ann.ask('DELETE', '/user/emails', [own('one'), own('absent')]);
    expect(none.status).toBe(404);
    expect(await shown()).toHaveLength(3);
    expect((await ann.ask('DELETE', '/user/emails', [own('one'), own('two')])).status).toBe(204);
    expect(await shown()).toHaveLength(1);
    expect(await fannedOut(String(first?.id))).toMatchObject({
      counts: { pending: 0, cancelled: 1 },
      deliveries: [{ status: 'cancelled', lastError: 'address_removed' }],
    });
  });

  test('reaches no address of another account', async () => {
    const ben = await testApi.addPerson(`ben-${people}`);
    await ben.ask('POST', '/user/emails', [own('shared')]);
    expect((await ann.ask('DELETE', '/user/emails', [own('shared')])).status).toBe(404);
  });
});

test('changes heed If-Match: what was read must still hold', async () => {
  await add(own('next'));
  await verifyByHand(own('next'));
  const read = await fetch(`${testApi.url}/api/user/emails`, {
    headers: { authorization: `Bearer ${ann.token}` },
  });
  const tag = String(read.headers.get('etag'));
  const change = (ifMatch: string) =>
    fetch(`${testApi.url}/api/user/emails/primary`, {
      method: 'PATCH',
      headers: {
        authorization: `Bearer ${ann.token}`,
        'content-type': 'application/json',
        'if-match': ifMatch,
      },
      body: JSON.stringify({ email: own('next') }),
    });
  expect((await change('"other"')).status).toBe(412);
  const changed = await change(tag);
  expect(changed.status).toBe(200);
  expect((await change(tag)).status).toBe(412);
  expect((await change(String(changed.headers.get('etag')))).status).toBe(200);
});

test('the list goes by pages', async () => {
  await add(own('one'), own('two'));
  const page = await ann.ask('GET', '/user/emails?per_page=2');
  expect(page.body).toHaveLength(2);
  const next = /<[^>]*\/api([^>]*)>; rel="next"/u.exec(page.headers.get('link') ?? '')?.[1];
  expect((await ann.ask('GET', String(next))).body).toEqual([entry(own('two'))]);
});
