import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, cp, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { createDatabase, type Pool, publishEvent } from '@ghost/db';
import { createPostgresQueue, hookLane, sqlOf } from '@ghost/queue';
import { encrypt, generateKeyEntry, parseKeyRing } from '@ghost/vault';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';

import { ghost, type GhostResult } from '../../../test/support/ghost-cli.js';
import { CLI_ENTRY } from '../../../test/support/ghost-processes.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { withClient } from '../../../test/support/test-server.js';

let database: TestDatabase;
let env: Record<string, string>;
let pool: Pool;

beforeEach(async () => {
  database = await createTestDatabase();
  env = { DATABASE_URL: database.url };
  pool = database.pool();
});
afterEach(() => database.drop());

/** One event with one pending webhook job. */
async function scene() {
  const { rows } = await pool.query<{ id: string }>(
    `WITH a AS (INSERT INTO account (login, name) VALUES ('ada', 'Ada') RETURNING id),
       r AS (INSERT INTO repository (owner_id, name) SELECT id, 'demo' FROM a RETURNING id)
     INSERT INTO hook (repository_id, url, events) SELECT id, 'https://example.test/secret', '{*}' FROM r RETURNING id`,
  );
  const hookId = Number(rows[0]?.id);
  const actor = { id: 1, login: 'ada', name: 'Ada' };
  const repository = {
    id: 1,
    owner: 'ada',
    name: 'demo',
    full_name: 'ada/demo',
    private: false,
    html_url: 'http://127.0.0.1/ada/demo',
  };
  const db = createDatabase(pool);
  const eventId = await db.transaction((tx) =>
    publishEvent(tx, {
      type: 'member.added',
      repositoryId: 1,
      payload: { repository, sender: actor, member: actor },
    }),
  );
  const jobId = randomUUID();
  await db.transaction(async (tx) => {
    const queue = createPostgresQueue({ pool });
    const contentId = await queue.storeContent(sqlOf(tx), { kind: 'webhook', eventId, body: '{}' });
    await queue.enqueue(sqlOf(tx), [
      {
        id: jobId,
        idempotencyKey: `webhook:${eventId}:${hookId}`,
        eventId,
        contentId,
        lane: hookLane(hookId),
        repositoryId: 1,
        kind: 'webhook',
        hookId,
        own: { event: 'member.added' },
      },
    ]);
  });
  return { eventId, jobId, hookId };
}

describe('ghost migrate', () => {
  let empty: string;
  beforeAll(async () => {
    const base = inject('databaseBaseUrl');
    const name = `ghost_cli_${randomUUID().slice(0, 8)}`;
    await withClient(base, (client) => client.query(`create database ${name} template template0`));
    const url = new URL(base);
    url.pathname = `/${name}`;
    empty = url.href;
  });
  afterAll(async () => {
    const name = new URL(empty).pathname.slice(1);
    await withClient(inject('databaseBaseUrl'), (client) =>
      client.query(`drop database ${name} with (force)`),
    );
  });

  test('says what is missing, applies it once, and then has nothing to do', async () => {
    const at = { DATABASE_URL: empty };
    const missing = await ghost(['migrate', '--check'], at);
    expect(missing).toMatchObject({ code: 1, err: '' });
    expect(missing.out).toMatch(/^Missing: 0000_tables, .*Run: npx ghost migrate\n$/u);
    // Two at once wait for each other.
    const both = await Promise.all([ghost(['migrate'], at), ghost(['migrate'], at)]);
    expect(both.map((one) => one.code)).toEqual([0, 0]);
    expect(both.some((one) => one.out.startsWith('Applied 0000_tables\n'))).toBe(true);
    expect(await ghost(['migrate'], at)).toMatchObject({
      code: 0,
      out: 'The database was up to date.\n',
    });
    expect((await ghost(['migrate', '--check'], at)).code).toBe(0);
    const json = JSON.parse((await ghost(['migrate', '--check', '--json'], at)).out) as object;
    expect(json).toMatchObject({ pending: [] });
  });
});

describe('ghost account', () => {
  test('add prints the token alone on standard output, so that a script can keep it', async () => {
    const made = await ghost(
      ['account', 'add', 'ada', '--email', 'ada@example.test', '--admin'],
      env,
    );
    expect(made.code).toBe(0);
    expect(made.out).toMatch(/^ghs_[0-9A-Za-z]{40}\n$/u);
    expect(made.err).toContain('ada (id 1, admin)');
    const { rows } = await pool.query('SELECT login, is_admin FROM account');
    expect(rows).toEqual([{ login: 'ada', is_admin: true }]);
  });

  test('says in one sentence why it made none, exit 1', async () => {
    await ghost(['account', 'add', 'ada', '--email', 'ada@example.test'], env);
    expect(await ghost(['account', 'add', 'ADA', '--email', 'a@example.test'], env)).toEqual({
      code: 1,
      out: '',
      err: 'The login "ADA" is taken. Choose another.\n',
    });
    const bad = await ghost(['account', 'add', 'x', '--email', 'nobody'], env);
    expect(bad).toMatchObject({ code: 1, out: '' });
    expect(bad.err).toContain('must have the form name@domain');
    const without = await ghost(['account', 'add', 'x'], env);
    expect(without).toMatchObject({ code: 1, out: '' });
    expect(without.err).toContain('--email');
  });
});

describe('ghost outbox', () => {
  test('list shows what was set aside and why; retry lets that consumer try again', async () => {
    const { eventId } = await scene();
    await pool.query(
      `UPDATE outbox_progress SET set_aside_at = now(), attempts = 5, last_error = E'boom\\nat line 2'
       WHERE consumer = 'notifier'`,
    );
    const listed = await ghost(['outbox', 'list'], env);
    expect(listed.code).toBe(0);
    expect(listed.out.split('\n')[1]).toMatch(
      new RegExp(`^${eventId} +member\\.added +notifier +set_aside +5 .*boom at line 2$`, 'u'),
    );
    expect(listed.out).toMatch(/webhook-fanout +pending +0/u);
    const json = JSON.parse(
      (await ghost(['outbox', 'list', '--state', 'set_aside', '--json'], env)).out,
    ) as object;
    expect(json).toMatchObject([{ eventId, consumer: 'notifier', state: 'set_aside' }]);

    expect(await ghost(['outbox', 'retry', eventId, 'notifier'], env)).toMatchObject({
      code: 0,
      out: `Event ${eventId} is tried again: notifier.\n`,
    });
    expect((await ghost(['outbox', 'list', '--state', 'set_aside'], env)).err).toBe(
      'Nothing is pending or set aside.\n',
    );
  });

  test('retry says in one sentence why it does not, exit 1', async () => {
    const { eventId } = await scene();
    await pool.query('UPDATE outbox_progress SET done_at = now()');
    const done = await ghost(['outbox', 'retry', eventId, 'notifier'], env);
    expect(done).toMatchObject({ code: 1, out: '' });
    expect(done.err).toContain('it was fanned out already');
    expect((await ghost(['outbox', 'retry', randomUUID(), 'notifier'], env)).code).toBe(1);
    const unknown = await ghost(['outbox', 'retry', eventId, 'mailer'], env);
    expect(unknown.code).toBe(1);
    expect(unknown.err).toContain('notifier, webhook-fanout');
  });
});

describe('ghost event, jobs and status', () => {
  test('show an event, its jobs and what waits', async () => {
    const { eventId, jobId, hookId } = await scene();
    const shown = await ghost(['event', 'show', eventId], env);
    expect(shown.code).toBe(0);
    expect(shown.out).toContain('member.added in ada/demo');
    expect(shown.out).toContain(`hook ${hookId} (https://example.test)`);
    expect(shown.out).not.toContain('secret');
    const json = JSON.parse((await ghost(['event', 'show', eventId, '--json'], env)).out) as object;
    expect(json).toMatchObject({ id: eventId, deliveries: [{ jobId, status: 'pending' }] });

    expect(await ghost(['event', 'show', jobId], env)).toEqual(shown);
    const jobs = await ghost(['jobs', 'list', '--status', 'pending'], env);
    expect(jobs.out).toMatch(new RegExp(`^${jobId} +${eventId} +hook ${hookId} `, 'mu'));
    expect(await ghost(['jobs', 'list', '--status', 'dead'], env)).toMatchObject({
      code: 0,
      out: '',
      err: 'No such jobs.\n',
    });
    const status = await ghost(['status'], env);
    expect(status.out).toMatch(/Outbox: 2 pending/u);
    expect(status.out).toMatch(/webhook +pending +due +1/u);
  });

  test('discard and retry a job, and say which was refused', async () => {
    const { jobId } = await scene();
    expect(await ghost(['jobs', 'retry', jobId], env)).toMatchObject({ code: 1, out: '' });
    expect(await ghost(['jobs', 'discard', jobId], env)).toMatchObject({
      code: 0,
      out: `Job ${jobId} is cancelled.\n`,
    });
    const nobody = randomUUID();
    const both = await ghost(['jobs', 'retry', jobId, nobody], env);
    expect(both.code).toBe(1);
    expect(both.out).toBe(`Job ${jobId} is pending again.\n`);
    expect(both.err).toContain(`Job ${nobody} was not retried: there is no such job`);
  });

  test('ids that are none and unknown ones fail in one sentence', async () => {
    const bad = await ghost(['event', 'show', '17'], env);
    expect(bad).toMatchObject({ code: 1, out: '' });
    expect(bad.err).toMatch(/^"17" is no event id[^\n]*\n$/u);
    expect(bad.err).toContain('"npx ghost jobs list"');
    const unknown = await ghost(['event', 'show', randomUUID()], env);
    expect(unknown).toMatchObject({ code: 1, out: '' });
    expect(unknown.err).toMatch(/^There is no event \S+, and no job of this id: "npx ghost jobs/u);
    expect(unknown.err).not.toContain('retention');
    for (const lane of ['bogus', 'hook:999']) {
      const none = await ghost(['jobs', 'list', '--lane', lane], env);
      expect(none).toMatchObject({ code: 1, out: '' });
      expect(none.err).toContain(`There is no lane "${lane}"`);
    }
    const { hookId } = await scene();
    expect((await ghost(['jobs', 'list', '--lane', `HOOK:${hookId}`], env)).out).toContain('hook');
    expect((await ghost(['jobs', 'list', '--limit', '0'], env)).code).toBe(1);
  });
});

describe('ghost keys and settings', () => {
  test('generate prints a key ring that can be used as it is', async () => {
    const made = await ghost(['keys', 'generate', 'k9']);
    expect(made.code).toBe(0);
    expect(parseKeyRing(made.out.trim())).toMatchObject({ ok: true, ring: { activeId: 'k9' } });
    expect((await ghost(['keys', 'generate'])).out).toMatch(/^k\d{8}:/u);
    expect(await ghost(['keys', 'generate', 'a:b'])).toMatchObject({ code: 1, out: '' });
  });

  test('check tells the secrets that a ring cannot open, without any secret', async () => {
    const { hookId } = await scene();
    const [own, other] = [generateKeyEntry('own'), generateKeyEntry('other')];
    const ring = parseKeyRing(own);
    if (!ring.ok) throw new Error('The key is good.');
    const sealed = encrypt(ring.ring, 'whsec_secret', {
      row: String(hookId),
      purpose: 'hook_secret',
    });
    await pool.query('INSERT INTO hook_secret (hook_id, ciphertext) VALUES ($1, $2)', [
      hookId,
      sealed,
    ]);
    expect(await ghost(['keys', 'check'], { ...env, GHOST_SECRET_KEYS: own })).toMatchObject({
      code: 0,
      out: '1 of 1 secrets can be opened.\n',
    });
    const wrong = await ghost(['keys', 'check'], { ...env, GHOST_SECRET_KEYS: other });
    expect(wrong.code).toBe(1);
    expect(wrong.out).toContain('key "own" is not in GHOST_SECRET_KEYS');
    expect((await ghost(['keys', 'check'], env)).code).toBe(78);
  });

  test('settings lists every variable without a database', async () => {
    const table = await ghost(['settings']);
    expect(table.code).toBe(0);
    expect(table.out).toMatch(/^GHOST_RETRY_BASE_MS +delivery +10000 /mu);
    const json = JSON.parse((await ghost(['settings', '--json'])).out) as { name: string }[];
    expect(json.map((setting) => setting.name)).toContain('GHOST_SECRET_KEYS');
  });
});

describe('faults end in one message without a stack, and in the exit code of their kind', () => {
  test('78: settings, all faults together', async () => {
    const wrong = await ghost(['status'], { GHOST_RETRY_BASE: '1', DATABASE_URL: 'mysql://x' });
    expect(wrong.code).toBe(78);
    expect(wrong.out).toBe('');
    expect(wrong.err).toContain('GHOST_RETRY_BASE is no setting');
    expect(wrong.err).toContain('DATABASE_URL');
    expect(wrong.err).not.toMatch(/^ +at /mu);
    expect((await ghost(['migrate'])).code).toBe(78);
  });

  test('69: a database that is out of reach, without its password', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    const url = `postgres://ghost:hunter2@127.0.0.1:${port}/ghost`;
    for (const command of ['status', 'migrate']) {
      const result = await ghost([command], { DATABASE_URL: url });
      expect(result).toMatchObject({ code: 69, out: '' });
      expect(result.err).toBe(
        `Cannot use the database "ghost" at 127.0.0.1:${port}: nothing listens there. Start Postgres, or correct DATABASE_URL.\n`,
      );
    }
    const missing = new URL(database.url);
    missing.pathname = '/no_such_database';
    expect(await ghost(['status'], { DATABASE_URL: missing.href })).toMatchObject({
      code: 69,
      err: expect.stringContaining('there is no such database') as unknown,
    });
  });

  test('78: a database without the tables', async () => {
    await pool.query('ALTER TABLE delivery_job RENAME TO gone');
    expect(await ghost(['status'], env)).toMatchObject({
      code: 78,
      err: 'The database lacks tables of this version. Run: npx ghost migrate\n',
    });
  });

  test('the version is that of the package', async () => {
    expect(await ghost(['--version'])).toMatchObject({ code: 0, out: '0.1.0\n', err: '' });
  });

  test('1: an unknown command or option; help is no fault and has examples', async () => {
    expect((await ghost(['nope'])).code).toBe(1);
    expect((await ghost(['status', '--nope'])).code).toBe(1);
    const help = await ghost(['--help']);
    expect(await ghost(['help'])).toEqual(help);
    expect(help).toMatchObject({ code: 0, err: '' });
    expect(help.out).toContain('Examples:');
    for (const command of [
      ['account', 'add'],
      ['account', 'list'],
      ['token', 'add'],
      ['token', 'list'],
      ['token', 'revoke'],
      ['repo', 'list'],
      ['audit', 'list'],
      ['outbox', 'retry'],
      ['jobs', 'list'],
      ['migrate'],
    ]) {
      const shown = await ghost([...command, '--help']);
      expect(await ghost(['help', ...command])).toEqual(shown);
      expect(shown.out).toContain(`Usage: ghost ${command.join(' ')} `);
      expect(shown.out).toContain(`npx ghost ${command.join(' ')}`);
    }
  });

  test('1: not built yet, and says how', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'ghost-cli-'));
    try {
      const copy = path.join(folder, 'bin/ghost.js');
      await cp(CLI_ENTRY, copy);
      await cp(
        path.join(path.dirname(CLI_ENTRY), '../package.json'),
        path.join(folder, 'package.json'),
      );
      await chmod(copy, 0o755);
      const result = await new Promise<GhostResult>((resolve) => {
        execFile(copy, (error, out, err) => resolve({ code: Number(error?.code ?? 0), out, err }));
      });
      expect(result).toEqual({
        code: 1,
        out: '',
        err: 'ghost is not built yet. Run: npm run build\n',
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
