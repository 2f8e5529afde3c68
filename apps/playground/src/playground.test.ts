import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { generateKeyEntry } from '@ghost/vault';
import { simpleParser } from 'mailparser';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type RunningProcess, startProcess } from '../../../test/support/processes.js';
import { waitUntil } from '../../../test/support/wait-until.js';
import { MARKER_FILE } from './claim-folder.js';
import { findFreePort } from './embedded/ports.js';
import { isRunning } from './embedded/process-identity.js';

// The whole playground as it was built; `npm test` builds first.
const ENTRY = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const TIMEOUT_MS = 120_000;
const RUNS = /Ctrl-C stops everything/u;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'ghost-playground-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function start(args: string[] = [], env: Record<string, string> = {}): Promise<RunningProcess> {
  return startProcess({ name: 'playground', entry: ENTRY, args: ['--dir', folder, ...args], env });
}

async function startAndWait(args: string[] = []): Promise<RunningProcess> {
  const playground = await start(args);
  await playground.waitForLine(RUNS, TIMEOUT_MS);
  return playground;
}

/** The children of a process and theirs. */
function descendants(pid: number): { pid: number; command: string }[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 4).split(' ')[0]);
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return [{ pid: Number(name), parent, command }];
      } catch {
        return [];
      }
    });
  const below = (of: number): { pid: number; command: string }[] =>
    parents.filter((one) => one.parent === of).flatMap((one) => [one, ...below(one.pid)]);
  return below(pid);
}

async function expectNothingLeft(pids: readonly { pid: number }[]): Promise<void> {
  expect(pids.length).toBeGreaterThan(0);
  await waitUntil(() => pids.every(({ pid }) => !isRunning(pid)), {
    what: 'the end of all children',
  });
}

/** The link in a caught mail of a repository to one of the demo's people. */
async function unsubscribeLink(address: string, repository: string): Promise<string> {
  const mails = path.join(folder, 'mails');
  for (const name of (await readdir(mails)).filter((file) => file.includes(address))) {
    const mail = await simpleParser(await readFile(path.join(mails, name)));
    if (mail.subject?.includes(repository) !== true) continue;
    const link = /^No more mails of this thread: (\S+)$/mu.exec(mail.text ?? '')?.[1];
    if (link !== undefined) return link;
  }
  throw new Error(`No mail of ${repository} to ${address} has a link.`);
}

/** The person's choices are gone with it. */
async function clearFolder(): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
}

/** The first address in what was printed that fits. */
function printed(playground: RunningProcess, pattern: RegExp): string {
  const found = pattern.exec(text(playground));
  if (!found?.[1]) throw new Error(`Nothing printed fits ${String(pattern)}:\n${text(playground)}`);
  return found[1];
}

const text = (playground: RunningProcess) => playground.lines().join('\n');
const ended = async (playground: RunningProcess) => (await playground.exited).code;

describe('npm start', () => {
  test(
    '--once posts, waits, tells who got what with a retry among it, and exits 0 twice in a row',
    async () => {
      for (let run = 1; run <= 2; run += 1) {
        const playground = await start(['--once', '--comments', '5']);
        expect(await ended(playground), text(playground)).toBe(0);
        expect(text(playground)).toMatch(/All \d+ deliveries of 6 events came and were verified/u);
        expect(text(playground)).toMatch(/hook \d+ .* delivered +2 +both signatures/u);
        expect(text(playground)).toMatch(/brian@example\.test> +delivered +1 +headers and text/u);
      }
      for (const secret of ['keys', 'demo.json']) {
        expect((await stat(path.join(folder, secret))).mode & 0o777).toBe(0o600);
      }
      expect((await readdir(path.join(folder, 'mails'))).length).toBeGreaterThan(10);
    },
    TIMEOUT_MS,
  );

  test(
    '--once goes on with what people chose: who muted, ignores, watches no more or anew, over restarts',
    async () => {
      const link = await unsubscribeLink('brian@example.test', 'private-plans');
      const running = await startAndWait();
      const api = /http:\/\/127\.0\.0\.1:\d+(?=\/api\/repos)/u.exec(text(running))?.[0] ?? '';
      const left = await fetch(api + new URL(link).pathname, { method: 'POST' });
      expect(left.status).toBe(200);
      const { tokens } = JSON.parse(await readFile(path.join(folder, 'demo.json'), 'utf8')) as {
        tokens: Record<string, string>;
      };
      const choose = async (login: string, method: string, wish?: object) => {
        const answer = await fetch(`${api}/api/repos/ada/demo/subscription`, {
          method,
          headers: {
            authorization: `Bearer ${tokens[login]}`,
            ...(wish === undefined ? {} : { 'content-type': 'application/json' }),
          },
          ...(wish === undefined ? {} : { body: JSON.stringify(wish) }),
        });
        expect(answer.ok, `${login}: ${answer.status}`).toBe(true);
      };
      await choose('brian', 'PUT', { ignored: true });
      await choose('chika', 'DELETE');
      await choose('emeka', 'PUT', { subscribed: true });
      expect((await running.stop('SIGTERM')).code).toBe(0);

      const playground = await start(['--once', '--comments', '5']);
      expect(await ended(playground), text(playground)).toBe(0);
      expect(text(playground)).toMatch(/ brian +skipped \(muted\)$/mu);
      expect(text(playground)).toMatch(/ brian +skipped \(ignored\)$/mu);
      expect(text(playground)).toMatch(/emeka@example\.test> +delivered/u);
      expect(text(playground)).not.toMatch(/^thread.*chika/mu);
      expect(text(playground)).not.toContain('chika@example.test');
      await clearFolder();
    },
    TIMEOUT_MS,
  );

  test(
    'its curl lines tell the receiver what to answer and list the mails; one that hangs does not keep it from stopping',
    async () => {
      const playground = await startAndWait();
      const receiver = printed(playground, /curl -X PUT (http:\S+)\/answer -d 410/u);
      const [, url = '', authorization = ''] =
        /curl -X POST (\S+) [^']*'authorization: (Bearer \S+)' /u.exec(
          text(playground).replaceAll(/\\\n/gu, ''),
        ) ?? [];
      expect(text(playground)).toMatch(
        /^ {2}DATABASE_URL=postgres:\S+ npx ghost token add ada --scope repo /mu,
      );
      const told = await fetch(`${receiver}/answer/hooks/all-events`, {
        method: 'PUT',
        body: 'hang',
      });
      expect(await told.text()).toMatch(/^\/hooks\/all-events: hang \(never answers; .* 10 s/u);
      const posted = await fetch(url, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: '{"body":"hang on"}',
      });
      expect(posted.status).toBe(201);
      await playground.waitForLine(/ webhook .*comment\.created .*not answered, as told/u);

      await playground.waitForLine(/ mail +brian@example\.test +"Re: /u);
      const list = await (await fetch(`${receiver}/mails`)).text();
      const line = list.split('\n').findLast((one) => one.includes('brian@example.test')) ?? '';
      const mail = await (await fetch(`${receiver}/mails/${line.split('  ').at(-1)}`)).text();
      expect(mail).toContain('hang on');

      expect((await playground.stop('SIGINT')).code).toBe(0);
    },
    TIMEOUT_MS,
  );

  test(
    'what a 410 held goes on with the next start, and --once does not fail for it',
    async () => {
      const playground = await startAndWait();
      const receiver = printed(playground, /curl -X PUT (http:\S+)\/answer -d 410/u);
      await fetch(`${receiver}/answer`, { method: 'PUT', body: '410' });
      const [, url = '', authorization = ''] =
        /curl -X POST (\S+) [^']*'authorization: (Bearer \S+)' /u.exec(
          text(playground).replaceAll(/\\\n/gu, ''),
        ) ?? [];
      const posted = await fetch(url, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: '{"body":"gone"}',
      });
      expect(posted.headers.get('x-ratelimit-limit')).toBe('1000000');
      await playground.waitForLine(/ webhook .*comment\.created .*answered 410, as told/u);
      expect((await playground.stop('SIGTERM')).code).toBe(0);

      const next = await start(['--once', '--comments', '1']);
      expect(await ended(next), text(next)).toBe(0);
      expect(text(next)).toMatch(/^hook:\d+ was held \(.*\), \d+ pending: resumed, /mu);
    },
    TIMEOUT_MS,
  );

  test(
    'of two that want the same port at the same moment one runs, the other names the port and exits with 69',
    async () => {
      const other = await mkdtemp(path.join(tmpdir(), 'ghost-playground-'));
      try {
        const port = String(await findFreePort());
        const both = await Promise.all([
          start(['--port', port]),
          start(['--port', port, '--dir', other]),
        ]);
        const loser = await Promise.race(both.map((one) => one.exited.then(() => one)));
        expect(await ended(loser), text(loser)).toBe(69);
        expect(text(loser)).toContain(`Port ${port} on 127.0.0.1 is taken by another program.`);
        const winner = both.find((one) => one !== loser);
        await winner?.waitForLine(RUNS, TIMEOUT_MS);
        expect((await winner?.stop('SIGTERM'))?.code).toBe(0);
      } finally {
        await rm(other, { recursive: true, force: true });
      }
    },
    TIMEOUT_MS,
  );

  test(
    'of two at the very same instant one runs, the other says so and exits with 1',
    async () => {
      const both = await Promise.all([start(), start()]);
      const first = await Promise.race(both.map((one) => one.exited.then(() => one)));
      const other = both.find((one) => one !== first);
      expect(await ended(first)).toBe(1);
      expect(text(first)).toContain(
        `already runs on ${folder} (process ${other?.pid}, still starting)`,
      );
      await other?.waitForLine(RUNS, TIMEOUT_MS);
      const third = await start();
      expect(await ended(third)).toBe(1);
      expect(text(third)).toMatch(
        new RegExp(`\\(process ${other?.pid}, http://127\\.0\\.0\\.1:\\d+\\)`, 'u'),
      );
      expect((await other?.stop('SIGTERM'))?.code).toBe(0);
    },
    TIMEOUT_MS,
  );

  test(
    'its curl posts a comment that shows as mails and a webhook; a second one on the same data is refused; Ctrl-C stops all in order',
    async () => {
      const tokens = await readFile(path.join(folder, 'demo.json'), 'utf8');
      const playground = await startAndWait();
      expect(await readFile(path.join(folder, 'demo.json'), 'utf8')).toBe(tokens);
      const curl = /curl -X POST (\S+) [^']*'authorization: (Bearer \S+)' /u.exec(
        text(playground).replaceAll(/\\\n/gu, ''),
      );
      const answer = await fetch(curl?.[1] ?? '', {
        method: 'POST',
        headers: { authorization: curl?.[2] ?? '', 'content-type': 'application/json' },
        body: '{"body":"Hello from curl :wave:"}',
      });
      expect(answer.status).toBe(201);
      await playground.waitForLine(
        / webhook .*comment\.created .*both signatures ok.*answered 200/u,
      );
      for (const reader of ['brian', 'chika', 'dmitri']) {
        await playground.waitForLine(
          new RegExp(` mail +${reader}@example\\.test .*headers ok`, 'u'),
        );
      }

      const second = await start();
      expect(await ended(second)).toBe(1);
      expect(text(second)).toContain(
        `already runs on ${folder} (process ${playground.pid}, http://`,
      );
      expect(text(second)).toContain(`kill ${playground.pid}`);

      const children = descendants(playground.pid);
      playground.child.kill('SIGINT');
      // npm passes on the Ctrl-C that the terminal sent already.
      playground.child.kill('SIGINT');
      expect(await ended(playground), text(playground)).toBe(0);
      await expectNothingLeft(children);
      expect(playground.lines().filter((line) => line.startsWith('Stopping: '))).toEqual([
        'Stopping: API',
        'Stopping: delivery',
        'Stopping: receiver',
        'Stopping: mail catcher',
        'Stopping: Postgres',
      ]);
    },
    TIMEOUT_MS,
  );

  test(
    'a child that dies stops the rest, with its last lines and exit 1',
    async () => {
      const playground = await startAndWait();
      const children = descendants(playground.pid);
      const delivery = children.find((child) => child.command.includes('delivery/dist/main.js'));
      process.kill(delivery?.pid ?? 0, 'SIGKILL');
      expect(await ended(playground)).toBe(1);
      expect(text(playground)).toContain('The delivery process ended by itself (signal SIGKILL)');
      await expectNothingLeft(children);
    },
    TIMEOUT_MS,
  );

  test(
    'a second Ctrl-C ends at once what does not want to stop',
    async () => {
      const playground = await startAndWait();
      const children = descendants(playground.pid);
      const api = children.find((child) => child.command.includes('api/dist/main.js'));
      process.kill(api?.pid ?? 0, 'SIGSTOP');
      playground.child.kill('SIGINT');
      await playground.waitForLine(/^Stopping: API$/u);
      let over = false;
      void playground.exited.then(() => {
        over = true;
      });
      await waitUntil(() => over || (playground.child.kill('SIGINT') && false), {
        what: 'the end',
      });
      expect(await ended(playground)).toBe(1);
      expect(text(playground)).toContain('Stopping at once.');
      await expectNothingLeft(children);
    },
    TIMEOUT_MS,
  );

  test(
    'a playground that is killed leaves nothing running, and its data is taken on',
    async () => {
      const playground = await startAndWait();
      const children = descendants(playground.pid);
      await playground.kill9();
      await expectNothingLeft(children);
      const next = await startAndWait();
      expect((await next.stop('SIGTERM')).code).toBe(0);
    },
    TIMEOUT_MS,
  );
});

describe('what is wrong is said in one message, with the exit code of its kind, and nothing stays', () => {
  async function fails(args: string[], env: Record<string, string> = {}) {
    const playground = await start(args, env);
    const code = await ended(playground);
    expect(text(playground)).not.toMatch(/^ +at /mu);
    return { code, text: text(playground) };
  }

  test('78: an unknown setting', async () => {
    const result = await fails([], { GHOST_SMTP_TSL: 'off' });
    expect(result).toMatchObject({ code: 78 });
    expect(result.text).toMatch(
      /GHOST_SMTP_TSL is no setting of Ghost. Did you mean GHOST_SMTP_TLS\?/u,
    );
  });

  test.each([['--reset'], ['--once']])(
    '1: a folder of somebody else, with %s, which stays as it is',
    async (option) => {
      const foreign = await mkdtemp(path.join(tmpdir(), 'ghost-foreign-'));
      try {
        for (const name of ['keys', 'logs', 'mails', 'postgres']) {
          await mkdir(path.join(foreign, name));
          await writeFile(path.join(foreign, name, 'mine'), 'mine');
        }
        const result = await fails(['--dir', foreign, option]);
        expect(result.code).toBe(1);
        expect(result.text).toContain('(keys, logs, mails, postgres): nothing there was touched');
        expect(await readdir(foreign)).toEqual(['keys', 'logs', 'mails', 'postgres']);
        expect(await readdir(path.join(foreign, 'logs'))).toEqual(['mine']);
      } finally {
        await rm(foreign, { recursive: true, force: true });
      }
    },
  );

  test(
    '69: a port in use',
    async () => {
      const server: Server = createServer().listen(0, '127.0.0.1');
      await new Promise((resolve) => server.once('listening', resolve));
      const { port } = server.address() as { port: number };
      try {
        for (const given of [
          await fails(['--port', String(port)]),
          await fails([], { PORT: String(port) }),
        ]) {
          expect(given.code).toBe(69);
          expect(given.text).toContain(`Port ${port} on 127.0.0.1 is taken by another program.`);
        }
      } finally {
        await new Promise((resolve) => server.close(resolve));
      }
    },
    TIMEOUT_MS,
  );

  test('69: a database that is out of reach, without its password', async () => {
    const url = 'postgres://ghost:hunter2@127.0.0.1:1/ghost';
    const result = await fails([], { DATABASE_URL: url });
    expect(result.code).toBe(69);
    expect(result.text).toContain(
      'Cannot use the database "ghost" at 127.0.0.1:1: nothing listens there.',
    );
    expect(result.text).not.toContain('hunter2');
  });

  test(
    '69: a Postgres that does not start',
    async () => {
      const broken = await mkdtemp(path.join(tmpdir(), 'ghost-broken-'));
      try {
        await writeFile(path.join(broken, MARKER_FILE), '');
        await mkdir(path.join(broken, 'postgres'));
        await writeFile(path.join(broken, 'postgres', 'PG_VERSION'), '18\n');
        const result = await fails(['--dir', broken]);
        expect(result.code).toBe(69);
        expect(result.text).toContain(`Data: ${path.join(broken, 'postgres')}`);
        expect(result.text).toContain('npm start -- --reset');
        // Half-made, damaged and of another version.
        await mkdir(path.join(broken, 'postgres.new', 'base'), { recursive: true });
        await writeFile(path.join(broken, 'demo.json'), '{"tok');
        await writeFile(path.join(broken, 'keys'), '');
        await writeFile(path.join(broken, 'notes.txt'), 'mine');
        const anew = await start(['--dir', broken, '--reset', '--once', '--comments', '1']);
        expect(await ended(anew), text(anew)).toBe(0);
        expect(text(anew)).toMatch(/^Left, as the playground did not make it: notes\.txt$/mu);
        expect(text(anew)).toMatch(/^Making the data of Postgres .*…$/mu);
      } finally {
        await rm(broken, { recursive: true, force: true });
      }
    },
    TIMEOUT_MS,
  );

  test(
    '78: a key ring that cannot open what is stored; --reset starts anew',
    async () => {
      const other = { GHOST_SECRET_KEYS: generateKeyEntry('other') };
      const result = await fails([], other);
      expect(result.code).toBe(78);
      expect(result.text).toMatch(/opens 0 of 3 webhook secrets .*key "playground" is not in/u);
      const playground = await start(['--reset', '--once', '--comments', '1'], other);
      expect(await ended(playground), text(playground)).toBe(0);
    },
    TIMEOUT_MS,
  );
});
