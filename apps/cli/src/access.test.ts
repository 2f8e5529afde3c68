import { spawn } from 'node:child_process';
import { once } from 'node:events';

import type { Pool } from '@ghost/db';
import { loginOfToken } from '@ghost/operations';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { ghost as run } from '../../../test/support/ghost-cli.js';
import { CLI_ENTRY } from '../../../test/support/ghost-processes.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';

let database: TestDatabase;
let pool: Pool;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = database.pool();
});
afterEach(() => database.drop());

const ghost = (...args: string[]) => run(args, { DATABASE_URL: database.url });
const json = async (...args: string[]): Promise<unknown> =>
  JSON.parse((await ghost(...args, '--json')).out) as unknown;
const lines = (text: string) => text.trimEnd().split('\n');

/** People `a1`, `a2`, … made in one statement. */
async function people(count: number): Promise<void> {
  await pool.query(
    `WITH made AS (INSERT INTO account (login, name) SELECT 'a' || n, 'Person ' || n FROM generate_series(1, $1::int) n RETURNING id)
     INSERT INTO repository (owner_id, name, private) SELECT id, 'r' || id, id % 2 = 0 FROM made ORDER BY id`,
    [count],
  );
}

describe('ghost token', () => {
  test('add prints the token alone on standard output; list and audit never show it; revoke ends it', async () => {
    await ghost('account', 'add', 'ada', '--email', 'ada@example.test');
    const made = await ghost(
      ...['token', 'add', 'ADA', '--label', 'laptop', '--scope', 'repo', '--scope', 'hooks'],
      ...['--expires', '90d'],
    );
    expect(made.code).toBe(0);
    expect(made.out).toMatch(/^ghs_[0-9A-Za-z]{40}\n$/u);
    expect(made.err).toMatch(/token 2 of ADA \(repo, hooks; ends 2\d{3}-/u);
    const token = made.out.trim();
    expect(made.err).not.toContain(token);
    expect(await loginOfToken(pool, token)).toBe('ada');

    const listed = await ghost('token', 'list', 'ada');
    expect(listed).toMatchObject({ code: 0, err: '' });
    expect(lines(listed.out)[1]).toMatch(/^2 +live +repo, hooks +\S+ \S+ +2\S+ \S+Z +laptop$/u);
    expect(lines(listed.out)[2]).toMatch(/^1 +live +repo, hooks, admin .* never +first token$/u);
    const all = [listed.out, (await ghost('token', 'list', 'ada', '--json')).out];
    all.push((await ghost('audit', 'list')).out, (await ghost('audit', 'list', '--json')).out);
    expect(all.join()).not.toContain(token);
    const { rows } = await pool.query<{ hash: string }>(
      "SELECT encode(token_hash, 'hex') AS hash FROM api_token",
    );
    for (const { hash } of rows) expect(all.join()).not.toContain(hash);

    expect(await ghost('token', 'revoke', '2')).toEqual({
      code: 0,
      out: 'Token 2 is revoked.\n',
      err: '',
    });
    expect(await loginOfToken(pool, token)).toBeNull();
    expect(lines((await ghost('token', 'list', 'ada')).out)).toHaveLength(2);
    expect((await ghost('token', 'list', 'ada', '--all')).out).toMatch(/^2 +revoked /mu);
    expect(lines((await ghost('audit', 'list', '--account', 'ada')).out)[1]).toMatch(
      /token\.revoked +\(command line\) +ada /u,
    );
  });

  test('add --json gives the token and when it ends; a date is its first moment in UTC', async () => {
    await ghost('account', 'add', 'ada', '--email', 'ada@example.test');
    const made = await json('token', 'add', 'ada', '--scope', 'repo', '--expires', '2099-01-31');
    expect(made).toMatchObject({
      token: expect.stringMatching(/^ghs_/u) as unknown,
      scopes: ['repo'],
      expiresAt: '2099-01-31T00:00:00.000Z',
    });
    expect(await json('token', 'list', 'ada')).toMatchObject([
      { id: 2 },
      { id: 1, expiresAt: null },
    ]);
  });

  test.each([
    [['add', 'nobody', '--scope', 'repo'], /^There is no account "nobody"\.\n$/u],
    [['add', 'ada', '--scope', 'root'], /no such scope\. Choose from repo, hooks, admin\./u],
    [['add', 'ada', '--scope', 'repo', '--scope', 'repo'], /named twice/u],
    [['add', 'ada'], /--scope/u],
    [['add', 'ada', '--scope', 'repo', '--expires', '2020-01-01'], /is not in the future/u],
    [['add', 'ada', '--scope', 'repo', '--expires', '2099-02-30'], /use 90d, 12h, 2027-01-31/u],
    [['add', 'ada', '--scope', 'repo', '--expires', 'soon'], /use 90d, 12h, 2027-01-31/u],
    [['add', 'ada', '--scope', 'repo', '--expires', '0d'], /use 90d, 12h, 2027-01-31/u],
    [['add', 'ada', '--scope', 'repo', '--label', 'two\nlines'], /label/u],
    [['list', 'nobody'], /^There is no account "nobody"\.\n$/u],
    [['revoke', '99'], /^Token 99 was not revoked: there is none/u],
    [['revoke', '1e3'], /whole number/u],
    [['revoke', '99999999999999999999'], /whole number/u],
  ])('token %j fails with one message, exit 1, and makes nothing', async (args, message) => {
    await ghost('account', 'add', 'ada', '--email', 'ada@example.test');
    const result = await ghost('token', ...args);
    expect(result).toMatchObject({ code: 1, out: '' });
    expect(result.err).toMatch(message);
    expect(result.err).not.toMatch(/^ +at /mu);
    expect((await pool.query('SELECT FROM api_token WHERE revoked_at IS NULL')).rowCount).toBe(1);
  });

  test.each([[[]], [['--json']]])(
    'revoke tells what it did before it failed (%j)',
    async (options) => {
      await ghost('account', 'add', 'ada', '--email', 'ada@example.test');
      await ghost('token', 'add', 'ada', '--scope', 'repo');
      await pool.query('ALTER TABLE api_token ADD CHECK (id <> 2 OR revoked_at IS NULL)');
      const both = await ghost('token', 'revoke', '1', '2', ...options);
      expect(both.code).toBe(1);
      expect(both.out).toMatch(
        /^(?:Token 1 is revoked\.|\[\s+\{\s+"id": 1,\s+"result": "revoked"\s+\}\s+\])\n$/u,
      );
      expect(both.err).toMatch(/^It failed: /u);
    },
  );

  test('revoke goes on after one that is absent, and exits 1', async () => {
    await ghost('account', 'add', 'ada', '--email', 'ada@example.test');
    const both = await ghost('token', 'revoke', '99', '1', '--json');
    expect(both.code).toBe(1);
    expect(JSON.parse(both.out)).toEqual([
      { id: 99, result: 'absent' },
      { id: 1, result: 'revoked' },
    ]);
  });
});

describe('lists', () => {
  test('account list shows who has which address and how many tokens', async () => {
    await ghost('account', 'add', 'ada', '--email', 'ada@example.test', '--admin');
    await people(1);
    const listed = await ghost('account', 'list');
    expect(listed).toMatchObject({ code: 0, err: '' });
    expect(lines(listed.out)[1]).toMatch(/^1 +ada +ada +ada@example\.test +yes +yes +1 +2/u);
    expect(lines(listed.out)[2]).toMatch(/^2 +a1 +Person 1 +no +no +0 +2/u);
  });

  test('repo list counts members, watchers, threads and hooks, of one owner if asked', async () => {
    await people(3);
    await pool.query(
      `INSERT INTO member (repository_id, account_id, permission) VALUES (2, 1, 'read');
       INSERT INTO watch (repository_id, account_id, ignored) VALUES (2, 1, false), (2, 2, false), (2, 3, true);
       INSERT INTO thread (repository_id, number, author_id, title, body) VALUES (2, 1, 2, 't', '');
       INSERT INTO hook (repository_id, url, events) VALUES (2, 'https://a.example', '{*}'), (2, 'https://b.example', '{*}')`,
    );
    const listed = await ghost('repo', 'list', '--owner', 'A2');
    expect(listed).toMatchObject({ code: 0, err: '' });
    expect(lines(listed.out)).toHaveLength(2);
    expect(lines(listed.out)[1]).toMatch(/^2 +a2\/r2 +private +1 +2 +1 +2 +2\S+ \S+Z$/u);
    expect(await json('repo', 'list')).toMatchObject([
      { id: 1, owner: 'a1', name: 'r1', private: false, watchers: 0 },
      { id: 2, members: 1, watchers: 2, threads: 1, hooks: 2 },
      { id: 3 },
    ]);
    expect(await ghost('repo', 'list', '--owner', 'nobody')).toEqual({
      code: 1,
      out: '',
      err: 'There is no account "nobody".\n',
    });
  });

  test.each(['account', 'repo'])(
    '%s list says how to go on when there is more, and only then',
    async (what) => {
      await people(5);
      const first = await ghost(what, 'list', '--limit', '3');
      expect(lines(first.out)).toHaveLength(4);
      expect(first.err).toBe('… 3 shown; more: --after 3\n');
      const rest = await ghost(what, 'list', '--limit', '2', '--after', '3');
      expect(rest.err).toBe('');
      expect(lines(rest.out).map((line) => line.split(' ')[0])).toEqual(['ID', '4', '5']);
      expect((await ghost(what, 'list', '--after', '0')).code).toBe(1);
      expect((await ghost(what, 'list', '--limit', '1001')).code).toBe(1);
      expect((await ghost(what, 'list', '--after', '5')).err).toMatch(/^No such /u);
    },
  );

  test('audit list goes on with the older lines, and takes a repository or an account', async () => {
    for (const login of ['ada', 'brian', 'chika']) {
      await ghost('account', 'add', login, '--email', `${login}@example.test`);
    }
    const first = await ghost('audit', 'list', '--limit', '2');
    expect(first.err).toBe('… 2 shown; more: --after 2\n');
    const rest = await ghost('audit', 'list', '--limit', '2', '--after', '2');
    expect(rest.err).toBe('');
    expect(lines(rest.out)[1]).toMatch(/^1 .* account\.added +\(command line\) +ada /u);
    expect(await json('audit', 'list', '--account', 'BRIAN')).toMatchObject([{ subject: 'brian' }]);
    expect(await ghost('audit', 'list', '--account', 'nobody')).toEqual({
      code: 1,
      out: '',
      err: 'There is no account "nobody".\n',
    });
    expect((await ghost('audit', 'list', '--repo', 'ada/demo')).err).toBe('No such changes.\n');
    expect((await ghost('audit', 'list', '--repo', 'demo')).err).toContain('owner/name');
  });
});

test('audit list tells the command line from an account that is called operator', async () => {
  await ghost('account', 'add', 'operator', '--email', 'operator@example.test');
  await ghost('account', 'add', 'ada', '--email', 'ada@example.test');
  await pool.query(
    `INSERT INTO audit_entry (action, actor_id, actor, detail)
     VALUES ('token.added', 1, 'operator', '{}'), ('hook.disabled', NULL, '(delivery)', '{}')`,
  );
  const by = (text: string) => lines(text).map((line) => line.split(/ {2,}/u)[3]);
  expect(by((await ghost('audit', 'list')).out)).toEqual([
    'BY',
    '(delivery)',
    'operator',
    '(command line)',
    '(command line)',
  ]);
  // What is by or about the account, and nothing that the command line did to others.
  expect(await json('audit', 'list', '--account', 'operator')).toMatchObject([
    { actorId: 1, action: 'token.added' },
    { actorId: null, subject: 'operator' },
  ]);
});

describe('what others stored', () => {
  const EVIL = 'E\u001B[2J\u009Bvil\u007F\u202E\u2028\r\nname';

  test('reaches the terminal without what would steer it; JSON keeps the value', async () => {
    await pool.query("INSERT INTO account (login, name) VALUES ('eve', $1)", [EVIL]);
    const table = (await ghost('account', 'list')).out;
    const text = (await ghost('account', 'list', '--json')).out;
    for (const shown of [table, text]) {
      expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u2028\u202E]/u);
    }
    expect(lines(table)).toHaveLength(2);
    expect(JSON.parse(text)).toMatchObject([{ name: EVIL }]);
    const unknown = await ghost('token', 'list', '\u001B[31mred');
    expect(unknown.err).toBe('There is no account "\\u001b[31mred".\n');
  });

  test('keeps its columns, also after letters that are two wide', async () => {
    await pool.query(
      "INSERT INTO account (login, name) VALUES ('chika', '近藤 千佳'), ('brian', 'Brian')",
    );
    const [title = '', ...rows] = lines((await ghost('account', 'list')).out);
    const at = title.indexOf('VERIFIED');
    // Four letters of "近藤 千佳" take eight columns.
    expect(rows.map((row) => row.indexOf(' no '))).toEqual([at - 1 - 4, at - 1]);
  });

  test('goes quietly when its reader is gone', async () => {
    await people(1000);
    const list = `"${process.execPath}" "${CLI_ENTRY}" repo list --limit 1000 --json`;
    const child = spawn('sh', ['-c', `(${list}; echo "exit $?" >&2) | head -n 1`], {
      env: { PATH: process.env['PATH'] ?? '', DATABASE_URL: database.url },
    });
    let err = '';
    child.stderr.on('data', (chunk: Buffer) => {
      err += chunk.toString();
    });
    child.stdout.resume();
    await once(child, 'close');
    expect(err).toBe('exit 0\n');
  });
});
