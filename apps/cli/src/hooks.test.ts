import { listAudit } from '@ghost/operations';
import { standardForm } from '@ghost/signing';
import { decrypt, hookSecretContext, openHookHeaders } from '@ghost/vault';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import {
  createDeliverySeed,
  type DeliverySeed,
  keyRing,
  SEED_KEYS,
  SEED_SECRET,
} from '../../../test/support/delivery-seed.js';
import { ghost } from '../../../test/support/ghost-cli.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';

const KEY = 'Bearer of-nobody-else';

let database: TestDatabase;
let seed: DeliverySeed;
let id: number;

beforeEach(async () => {
  database = await createTestDatabase();
  seed = await createDeliverySeed(database.url);
  id = await seed.hook('https://receiver.example/hook?token=T');
});
afterEach(async () => {
  await seed.close();
  await database.drop();
});

const env = () => ({ DATABASE_URL: database.url, GHOST_SECRET_KEYS: SEED_KEYS });
const hooks = (...args: string[]) => ghost(['hooks', ...args], env());
const fed = (input: string, ...args: string[]) => ghost(['hooks', ...args], env(), input);
const shown = async () => JSON.parse((await hooks('show', String(id), '--json')).out) as object;

async function secrets(): Promise<string[]> {
  const { rows } = await seed.pool.query<{ ciphertext: string }>(
    'SELECT ciphertext FROM hook_secret WHERE hook_id = $1 ORDER BY id DESC',
    [id],
  );
  return rows.map(({ ciphertext }) => decrypt(keyRing(), ciphertext, hookSecretContext(id)));
}

async function audit(): Promise<unknown[]> {
  const lines = await listAudit(seed.pool);
  return lines.map(({ action, actorId, repository }) => [action, actorId, repository]).reverse();
}
const byOperator = (...actions: string[]) => actions.map((action) => [action, null, 'ghost/core']);

describe('ghost hooks', () => {
  test('pause and resume; list and show say what is held, and nothing of the path of the URL', async () => {
    await seed.webhooks([id]);
    expect(await hooks('pause', String(id), '999')).toEqual({
      code: 1,
      out: `Hook ${id} is paused; pending: 1.\n`,
      err: 'Hook 999 was not paused: there is no such hook.\n',
    });
    const again = await hooks('pause', String(id));
    expect(again).toMatchObject({ code: 1, out: '' });
    expect(again.err).toMatch(/was not paused: it is held already \(paused, since 2\S+\)\.$/mu);
    const listed = await hooks('list', '--held', '--repo', 'GHOST/core');
    expect(listed.out.split('\n')[1]).toMatch(
      new RegExp(`^${id} +ghost/core +https://receiver\\.example +yes +1 .* paused +\\*$`, 'u'),
    );
    const one = await hooks('show', String(id));
    expect(one.out).toMatch(/^held +2\S+ \S+Z It is paused\. /mu);
    expect(await shown()).toMatchObject({ id, pending: 1, held: { code: 'paused' } });
    for (const { out } of [listed, one]) expect(out).not.toContain('token');
    expect((await hooks('list', '--repo', 'ghost/other')).err).toBe('No such hooks.\n');

    expect(await hooks('resume', String(id))).toEqual({
      code: 0,
      out: `Hook ${id} is resumed; pending: 1.\n`,
      err: '',
    });
    expect((await hooks('resume', String(id))).err).toContain('it is not held');
    expect(await shown()).toMatchObject({ held: null });
    expect(await audit()).toEqual(byOperator('hook.paused', 'hook.resumed'));
  });

  test('one that fails, and was disabled, says since when and what it keeps; it is resumed without that if one wants', async () => {
    await seed.webhooks([id, id]);
    await seed.pool.query(
      `UPDATE delivery_lane SET failing_since = '2026-01-02T03:04:05Z', held_reason = 'disabled', held_at = '2026-01-05T03:04:05Z'`,
    );
    const { out } = await hooks('show', String(id));
    expect(out).toMatch(/^failing since +2026-01-02 03:04:05/mu);
    expect(out).toMatch(/^held +2026-01-05 \S+ It was disabled, /mu);
    expect(out).toMatch(/^kept +2, the first of them until 2\S+ /mu);
    expect((await hooks('list', '--held')).out).toMatch(
      /2026-01-02 03:04:05\S* +2026-01-05 \S+ +disabled/u,
    );
    expect(await hooks('resume', String(id), '--discard')).toEqual({
      code: 0,
      out: `Hook ${id} is resumed; discarded: 2, pending: 0.\n`,
      err: '',
    });
    expect(await shown()).toMatchObject({ held: null, failingSince: null, expiresAt: null });
    const [line] = await listAudit(seed.pool);
    expect(line?.detail).toEqual({ hook: id, was: 'disabled', discarded: 2 });
  });

  test('resume ends what an operator holds too', async () => {
    await ghost(['lanes', 'hold', `hook:${id}`, '--reason', 'complaints'], env());
    expect(await shown()).toMatchObject({
      held: { code: 'operator', message: 'The operator holds it: complaints' },
    });
    expect((await hooks('resume', String(id))).code).toBe(0);
  });

  test('rotate-secret prints the new one alone on standard output; both are live', async () => {
    const made = await hooks('rotate-secret', String(id));
    expect(made.out).toMatch(/^whsec_[A-Za-z0-9+/]{32}\n$/u);
    expect(made.err).toMatch(/the one before signs too until 2\S+ \S+Z\.\nIt is shown only now:/u);
    expect(await secrets()).toEqual([made.out.trim(), SEED_SECRET]);
    const given = await fed('a secret\n', 'rotate-secret', String(id), '--secret-stdin', '--json');
    expect(JSON.parse(given.out)).toMatchObject({
      generated: null,
      standard: standardForm('a secret'),
    });
    await hooks('rotate-secret', String(id), '--overlap-hours', '0');
    expect(await secrets()).toHaveLength(1);
    expect((await hooks('show', String(id))).out).toMatch(/^secret +changed 2/mu);
    expect(await audit()).toEqual(byOperator(...Array(3).fill('hook.secret_rotated')));
  });

  test.each([
    ['the mask', '********\n', 'The secret is a mask or a placeholder.'],
    ['nothing', '', 'The secret is empty.'],
    ['the present one', `${SEED_SECRET}\n`, 'The hook has this secret already.'],
  ])('rotate-secret refuses %s, and changes nothing', async (_name, input, message) => {
    const refused = await fed(input, 'rotate-secret', String(id), '--secret-stdin');
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain(message);
    expect(await secrets()).toEqual([SEED_SECRET]);
    expect(await audit()).toEqual([]);
  });

  test('edit changes what is named; values of headers come by standard input and are never shown', async () => {
    const edited = await fed(
      `Authorization: ${KEY}\n\nx-team: core\n`,
      ...['edit', String(id), '--headers-stdin', '--insecure-ssl', 'yes'],
      ...['--url', 'https://other.example/x', '--events', 'comment.created,thread.opened'],
      ...['--github-signature', 'yes', '--active', 'no'],
    );
    expect(edited).toEqual({
      code: 0,
      out: `Changed of hook ${id}: url, events, active, github_signature, insecure_ssl, headers.\n`,
      err: '',
    });
    expect(await shown()).toMatchObject({
      origin: 'https://other.example',
      events: ['comment.created', 'thread.opened'],
      active: false,
      githubSignature: true,
      insecureSsl: true,
      headerNames: ['authorization', 'x-team'],
    });
    const all = [await hooks('show', String(id)), await hooks('list', '--json')];
    all.push(await ghost(['audit', 'list', '--json'], env()));
    for (const { out } of all) expect(out).not.toContain(KEY);
    const { rows } = await seed.pool.query('SELECT headers_ciphertext FROM hook');
    expect(openHookHeaders(keyRing(), id, rows[0].headers_ciphertext)).toEqual([
      ['authorization', KEY],
      ['x-team', 'core'],
    ]);
    await hooks('edit', String(id), '--remove-header', 'X-Team');
    expect(await shown()).toMatchObject({ headerNames: ['authorization'] });
    expect((await hooks('edit', String(id), '--active', 'no')).out).toBe(
      `Hook ${id} is so already.\n`,
    );
    expect(await audit()).toEqual(byOperator('hook.changed', 'hook.changed'));
  });

  test('edit sets filters in the form of the API, and takes them away; show says them', async () => {
    const filters = [
      { field: 'sender.login', is_not: ['robot'] },
      { field: 'thread.number', is: [1, 2] },
    ];
    const set = await hooks('edit', String(id), '--filters', JSON.stringify(filters));
    expect(set.out).toBe(`Changed of hook ${id}: filters.\n`);
    expect(await shown()).toMatchObject({ filters });
    expect((await hooks('show', String(id))).out).toMatch(
      /^filters +sender\.login is not "robot"; thread\.number is 1 or 2$/mu,
    );
    const again = await hooks('edit', String(id), '--filters', JSON.stringify(filters));
    expect(again.out).toBe(`Hook ${id} is so already.\n`);
    const futile = await hooks('edit', String(id), '--events', 'member.added');
    expect(futile).toMatchObject({ code: 1, out: '' });
    expect(futile.err).toContain('holds "thread.number"; these do: thread.opened');
    await hooks('edit', String(id), '--filters', '[]', '--events', 'member.added');
    expect(await shown()).toMatchObject({ filters: [], events: ['member.added'] });
    expect((await hooks('show', String(id))).out).toMatch(/^filters +none$/mu);
  });

  test.each([
    ['no JSON', 'sender.login=ada', 'It must be JSON'],
    ['an unknown field', '[{"field":"sender.email","is":["a"]}]', 'Known are: sender.id'],
    ['a wrong value', '[{"field":"sender.id","is":["7"]}]', '0.is.0: It must be a whole number.'],
  ])('edit refuses filters with %s, and changes nothing', async (_name, text, message) => {
    const refused = await hooks('edit', String(id), '--filters', text);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain(message);
    expect(await audit()).toEqual([]);
  });

  test('edit says every fault at once, and to the operator why an address is refused', async () => {
    const refused = await fed(
      `host: x\nx-a: ${KEY}\u0007\n`,
      ...['edit', String(id), '--headers-stdin', '--url', 'http://10.0.0.1/'],
    );
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain('Header "host" is set by Ghost');
    expect(refused.err).toContain('Header "x-a" has a value with line breaks');
    expect(refused.err).toContain(
      'private address (ruled by GHOST_ALLOW_HOSTS or GHOST_ALLOW_CIDRS)',
    );
    const line = await fed(KEY, 'edit', String(id), '--headers-stdin');
    expect(line).toMatchObject({ code: 1, err: 'Line 1 is no header: "name: value".\n' });
    expect(refused.err + line.err).not.toContain(KEY);
    expect(await audit()).toEqual([]);
  });

  test('a hook that there is not, and a missing key ring, are said', async () => {
    for (const command of [['show'], ['rotate-secret'], ['edit', '--active', 'no']]) {
      const [name = '', ...rest] = command;
      expect(await hooks(name, '999', ...rest)).toMatchObject({
        code: 1,
        err: 'There is no hook 999.\n',
      });
    }
    const keyless = { DATABASE_URL: database.url };
    expect((await ghost(['hooks', 'rotate-secret', String(id)], keyless)).code).toBe(78);
    expect((await hooks('edit', String(id), '--events', 'push')).err).toContain('no event "push"');
  });

  test('edit sets and lifts the rate limit, in the queue too', async () => {
    const perMinute = async () =>
      (
        await seed.pool.query<{ rate: number | null }>(
          'SELECT per_minute AS rate FROM delivery_lane WHERE lane = $1',
          [`hook:${id}`],
        )
      ).rows[0]?.rate;
    expect((await hooks('edit', String(id), '--rate-limit', '90')).out).toBe(
      `Changed of hook ${id}: rate_limit.\n`,
    );
    expect(await perMinute()).toBe(90);
    expect((await hooks('show', String(id))).out).toMatch(/rate +at most 90 a minute/u);
    await hooks('edit', String(id), '--rate-limit', 'none');
    expect(await perMinute()).toBeNull();
    for (const wrong of ['0', '1.5', 'many', '60001']) {
      const { err } = await hooks('edit', String(id), '--rate-limit', wrong);
      expect(err).toContain('a whole number from 1 to 60000, or none');
    }
  });
});
