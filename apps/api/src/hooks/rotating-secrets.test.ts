import { randomBytes } from 'node:crypto';

import { listAudit } from '@ghost/operations';
import { standardForm } from '@ghost/signing';
import { decrypt, encrypt, hookSecretContext, parseKeyRing } from '@ghost/vault';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { askWhileLocked } from '../../../../test/support/ask-while-locked.js';
import {
  type Json,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../test/support/test-api.js';

const HOOKS = '/repos/ada/engine/hooks';
const URL_OF_HOOK = 'https://receiver.example/hook';
const FIRST = 'the first secret';
const MASK = '********';
const HOUR_MS = 3_600_000;
const KEYS = `test:${randomBytes(32).toString('base64')}`;

let api: TestApi;
let ada: Person;

beforeAll(async () => {
  api = await startTestApi({ env: { GHOST_SECRET_KEYS: KEYS } });
  ada = await api.addPerson('ada');
  await ada.ask('POST', '/user/repos', { name: 'engine' });
});
afterAll(() => api.stop());

function ring(keys = KEYS) {
  const parsed = parseKeyRing(keys);
  if (!parsed.ok) throw new Error('The keys of the test are no key ring');
  return parsed.ring;
}

async function addHook(config: object = {}): Promise<Json> {
  const { body } = await ada.ask('POST', HOOKS, {
    config: { url: URL_OF_HOOK, secret: FIRST, ...config },
  });
  return body;
}

const rotate = (id: number, body?: object, headers?: Record<string, string>) =>
  ada.ask('POST', `${HOOKS}/${id}/secret-rotations`, body, headers);
const shown = async (id: number) => (await ada.ask('GET', `${HOOKS}/${id}`)).body;

/** The secrets that sign now, the newest first, and how many hours each has left. */
async function live(id: number) {
  const { rows } = await api.pool.query(
    `SELECT ciphertext, round(extract(epoch FROM expires_at - now()) / 3600)::int AS hours FROM hook_secret
     WHERE hook_id = $1 AND (expires_at IS NULL OR expires_at > now()) ORDER BY created_at DESC, id DESC`,
    [id],
  );
  return rows.map(({ ciphertext, hours }) => [
    decrypt(ring(), ciphertext, hookSecretContext(id)),
    hours,
  ]);
}

/** As if everything about the secrets had happened so much earlier. */
async function goBy(id: number, hours: number) {
  await api.pool.query(
    `UPDATE hook_secret SET created_at = created_at - $2 * interval '1 h', expires_at = expires_at - $2 * interval '1 h'
     WHERE hook_id = $1`,
    [id, hours],
  );
  await api.pool.query(
    `UPDATE hook SET secret_changed_at = secret_changed_at - $2 * interval '1 h',
       old_secret_until = old_secret_until - $2 * interval '1 h' WHERE id = $1`,
    [id, hours],
  );
}

describe('rotating a secret', () => {
  test('makes one that is shown once, beside the one before for 24 hours', async () => {
    const { id } = await addHook();
    expect((await shown(id)).secret_rotation).toBeNull();
    const { status, body } = await rotate(id);
    expect(status).toBe(200);
    expect(body.config.secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/u);
    expect(body.config).not.toHaveProperty('standard_secret');
    expect(await live(id)).toEqual([
      [body.config.secret, null],
      [FIRST, 24],
    ]);
    const { changed_at, old_secret_until, hint } = body.secret_rotation;
    expect(Date.parse(old_secret_until) - Date.parse(changed_at)).toBe(24 * HOUR_MS);
    expect(hint).toBeNull();
    expect(await shown(id)).toEqual({ ...body, config: { ...body.config, secret: MASK } });
  });

  test('takes one that is given, and shows it as stock libraries take it', async () => {
    const { id } = await addHook();
    const { body } = await rotate(id, { secret: 'the second', overlap_hours: 1 });
    expect(body.config).toMatchObject({
      secret: MASK,
      standard_secret: standardForm('the second'),
    });
    expect(await live(id)).toEqual([
      ['the second', null],
      [FIRST, 1],
    ]);
    expect(JSON.stringify(await shown(id))).not.toContain(standardForm('the second'));
  });

  test('without an overlap the one before ends at once', async () => {
    const { id } = await addHook();
    const { body } = await rotate(id, { overlap_hours: 0 });
    expect(await live(id)).toEqual([[body.config.secret, null]]);
    expect(body.secret_rotation.old_secret_until).toBe(body.secret_rotation.changed_at);
  });

  test('again keeps to each what it was promised, and what has ended is gone', async () => {
    const { id } = await addHook();
    await rotate(id, { secret: 'the second', overlap_hours: 10 });
    await goBy(id, 4);
    await rotate(id, { secret: 'the third', overlap_hours: 2 });
    expect(await live(id)).toEqual([
      ['the third', null],
      ['the second', 2],
      [FIRST, 6],
    ]);
    await goBy(id, 3);
    const { body } = await rotate(id, { secret: 'the fourth' });
    expect(await live(id)).toEqual([
      ['the fourth', null],
      ['the third', 24],
      [FIRST, 3],
    ]);
    const { rows } = await api.pool.query('SELECT FROM hook_secret WHERE hook_id = $1', [id]);
    expect(rows).toHaveLength(3);
    expect(Date.parse(body.secret_rotation.old_secret_until)).toBeGreaterThan(Date.now());
  });

  test('so often that too many would sign is refused, unless all the others end', async () => {
    const { id } = await addHook();
    for (let n = 0; n < 4; n += 1) expect((await rotate(id)).status).toBe(200);
    const before = await live(id);
    expect(before).toHaveLength(5);
    const refused = await rotate(id);
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ code: 'too_many' }] } });
    expect(await live(id)).toEqual(before);
    expect((await rotate(id, { overlap_hours: 0 })).status).toBe(200);
    expect(await live(id)).toHaveLength(1);
  });

  test('a secret that cannot be read ends at once: nothing could be sent beside it', async () => {
    const { id } = await addHook();
    const lost = ring(`lost:${randomBytes(32).toString('base64')}`);
    await api.pool.query('UPDATE hook_secret SET ciphertext = $2 WHERE hook_id = $1', [
      id,
      encrypt(lost, FIRST, hookSecretContext(id)),
    ]);
    const { body } = await rotate(id);
    expect(await live(id)).toEqual([[body.config.secret, null]]);
  });

  test.each([
    ['the mask', { secret: MASK }, 'secret', 'secret_mask'],
    ['no base64', { secret: 'whsec_???' }, 'secret', 'secret_not_base64'],
    ['an empty secret', { secret: '' }, 'secret', 'secret_empty'],
    ['the present one', { secret: FIRST }, 'secret', 'secret_in_use'],
    ['too long an overlap', { overlap_hours: 169 }, 'overlap_hours', 'invalid'],
    ['half an hour', { overlap_hours: 0.5 }, 'overlap_hours', 'invalid'],
    ['an unknown field', { overlap: 1 }, 'overlap', 'unknown_field'],
  ])('%s is a 422, and nothing changes', async (_name, body, field, code) => {
    const { id } = await addHook();
    const before = await shown(id);
    expect(await rotate(id, body)).toMatchObject({
      status: 422,
      body: { errors: [{ field, code }] },
    });
    expect(await live(id)).toEqual([[FIRST, null]]);
    expect(await shown(id)).toEqual(before);
    await ada.ask('DELETE', `${HOOKS}/${id}`);
  });

  test('two at once: with If-Match the second is a conflict', async () => {
    const { id } = await addHook();
    const tag = (await ada.ask('GET', `${HOOKS}/${id}`)).headers.get('etag') ?? '';
    const answers = await Promise.all([1, 2].map(() => rotate(id, {}, { 'if-match': tag })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 412]));
    expect(await live(id)).toHaveLength(2);
  });

  test('is an edit; that the old secret ends by itself later is none', async () => {
    const { id } = await addHook();
    const tags = async () =>
      Promise.all(
        ['', '/config'].map(
          async (part) => (await ada.ask('GET', `${HOOKS}/${id}${part}`)).headers.get('etag') ?? '',
        ),
      );
    const edit = (part: string, tag: string) =>
      ada.ask('PATCH', `${HOOKS}/${id}${part}`, {}, { 'if-match': tag });
    const [hookTag = '', configTag = ''] = await tags();
    await rotate(id, { overlap_hours: 2 });
    expect((await edit('', hookTag)).status).toBe(412);
    expect((await edit('/config', configTag)).status).toBe(412);
    const [newHookTag = '', newConfigTag = ''] = await tags();
    await goBy(id, 3);
    expect(await live(id)).toHaveLength(1);
    expect((await edit('', newHookTag)).status).toBe(200);
    expect((await edit('/config', newConfigTag)).status).toBe(200);
  });

  test('that waited for another is the newest, though its transaction began before', async () => {
    const { id } = await addHook();
    const other = encrypt(ring(), 'of the other', hookSecretContext(id));
    await askWhileLocked(
      api.pool,
      `SELECT FROM hook WHERE id = ${id} FOR NO KEY UPDATE`,
      () => rotate(id, { secret: 'the newest' }),
      (run) =>
        run(
          `INSERT INTO hook_secret (hook_id, ciphertext, created_at) VALUES (${id}, '${other}', clock_timestamp())`,
        ),
    );
    expect((await live(id)).map(([secret]) => secret)).toEqual([
      'the newest',
      'of the other',
      FIRST,
    ]);
  });

  test('stands in the audit, without the secret', async () => {
    const { id } = await addHook();
    await rotate(id, { secret: 'the second', overlap_hours: 1 });
    const [line] = await listAudit(api.pool, { repository: 'ada/engine', limit: 1 });
    expect(line).toMatchObject({
      action: 'hook.secret_rotated',
      actor: 'ada',
      detail: { hook: id, generated: false, old_secret_until: expect.any(String) },
    });
    expect(JSON.stringify(line)).not.toContain('the second');
  });
});

describe('a receiver that seems to have the old secret', () => {
  /** One outcome `hoursAgo`, as delivery writes it. */
  async function attempt(id: number, status: number, hoursAgo: number) {
    const outcome = status < 300 ? 'delivered' : 'retry';
    await api.pool.query(
      `INSERT INTO delivery_attempt (job_id, lease_no, hook_id, started_at, outcome, status)
       VALUES (gen_random_uuid(), 1, $1, now() - $3 * interval '1 h', $4, $2)`,
      [id, status, hoursAgo, outcome],
    );
    if (outcome !== 'delivered') return;
    // One that is there is not made again.
    await api.pool.query(
      `INSERT INTO delivery_lane (lane, version, kind) VALUES ('hook:' || $1::bigint, 1, 'webhook')`,
      [id],
    );
    await api.pool.query(
      `UPDATE delivery_lane SET last_success_at = now() - $2 * interval '1 h' WHERE lane = 'hook:' || $1::bigint`,
      [id, hoursAgo],
    );
  }

  test('is hinted at once its old secret has ended, and no more once it takes something', async () => {
    const { id } = await addHook();
    await rotate(id, { overlap_hours: 2 });
    await goBy(id, 5);
    await attempt(id, 204, 4);
    await attempt(id, 401, 1);
    const { hint, old_secret_until } = (await shown(id)).secret_rotation;
    expect(hint).toBe(
      `The endpoint answers 401 and has taken nothing since ${old_secret_until}, when the old secret ended. It seems to verify with the old one still: give it the new secret.`,
    );
    await attempt(id, 204, 0);
    expect((await shown(id)).secret_rotation.hint).toBeNull();
  });

  test('while both sign, where it reads one signature only', async () => {
    const { id } = await addHook({ github_signature: true });
    await attempt(id, 200, 1);
    await rotate(id);
    await attempt(id, 403, 0);
    expect((await shown(id)).secret_rotation.hint).toMatch(
      /^The endpoint answers 403 .* x-hub-signature-256 holds the new one alone: /u,
    );
  });
});
