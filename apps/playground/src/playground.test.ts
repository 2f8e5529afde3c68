import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { freePort } from '../../../test/support/ghost-processes.js';
import {
  exitCodeOf,
  PLAYGROUND_TIMEOUT_MS,
  PlaygroundFolder,
  postAsPrinted,
  receiverUrlOf,
  RUNS,
  textOf,
} from '../../../test/support/playground-process.js';
import { waitUntil } from '../../../test/support/wait-until.js';
import { isRunning } from './embedded/process-identity.js';

vi.setConfig({ testTimeout: PLAYGROUND_TIMEOUT_MS });

let ghost: PlaygroundFolder;
beforeAll(async () => {
  ghost = await PlaygroundFolder.create();
});
afterAll(() => ghost.remove());

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

describe('npm start', () => {
  test('its curl lines tell the receiver what to answer and list the mails; one that hangs does not keep it from stopping', async () => {
    const playground = await ghost.run();
    const receiver = receiverUrlOf(playground);
    expect(textOf(playground)).toMatch(
      /^ {2}DATABASE_URL=postgres:\S+ npx ghost token add ada --scope repo /mu,
    );
    const told = await fetch(`${receiver}/answer/hooks/all-events`, {
      method: 'PUT',
      body: 'hang',
    });
    expect(await told.text()).toMatch(/^\/hooks\/all-events: hang \(never answers; .* 10 s/u);
    expect((await postAsPrinted(playground, 'hang on')).status).toBe(201);
    await playground.waitForLine(/ webhook .*comment\.created .*not answered, as told/u);

    await playground.waitForLine(/ mail +brian@example\.test +"Re: /u);
    const list = await (await fetch(`${receiver}/mails`)).text();
    const line = list.split('\n').findLast((one) => one.includes('brian@example.test')) ?? '';
    const mail = await (await fetch(`${receiver}/mails/${line.split('  ').at(-1)}`)).text();
    expect(mail).toContain('hang on');

    expect((await playground.stop('SIGINT')).code).toBe(0);
  });

  test('of two that want the same port at the same moment one runs, the other names the port and exits with 69', async () => {
    const other = await mkdtemp(path.join(tmpdir(), 'ghost-playground-'));
    try {
      const port = String(await freePort());
      const both = await Promise.all([
        ghost.start(['--port', port]),
        ghost.start(['--port', port, '--dir', other]),
      ]);
      const loser = await Promise.race(both.map((one) => one.exited.then(() => one)));
      expect(await exitCodeOf(loser), textOf(loser)).toBe(69);
      expect(textOf(loser)).toContain(`Port ${port} on 127.0.0.1 is taken by another program.`);
      const winner = both.find((one) => one !== loser);
      await winner?.waitForLine(RUNS, PLAYGROUND_TIMEOUT_MS);
      expect((await winner?.stop('SIGTERM'))?.code).toBe(0);
    } finally {
      await rm(other, { recursive: true, force: true });
    }
  });

  test('of two at the very same instant one runs, the other says so and exits with 1', async () => {
    const both = await Promise.all([ghost.start(), ghost.start()]);
    const first = await Promise.race(both.map((one) => one.exited.then(() => one)));
    const other = both.find((one) => one !== first);
    expect(await exitCodeOf(first)).toBe(1);
    expect(textOf(first)).toContain(
      `already runs on ${ghost.folder} (process ${other?.pid}, still starting)`,
    );
    await other?.waitForLine(RUNS, PLAYGROUND_TIMEOUT_MS);
    const third = await ghost.start();
    expect(await exitCodeOf(third)).toBe(1);
    expect(textOf(third)).toMatch(
      new RegExp(`\\(process ${other?.pid}, http://127\\.0\\.0\\.1:\\d+\\)`, 'u'),
    );
    expect((await other?.stop('SIGTERM'))?.code).toBe(0);
  });

  test('its curl posts a comment that shows as mails and a webhook; a second one on the same data is refused; Ctrl-C stops all in order', async () => {
    const tokens = await readFile(path.join(ghost.folder, 'demo.json'), 'utf8');
    const playground = await ghost.run();
    expect(await readFile(path.join(ghost.folder, 'demo.json'), 'utf8')).toBe(tokens);
    expect((await postAsPrinted(playground, 'Hello from curl :wave:')).status).toBe(201);
    await playground.waitForLine(/ webhook .*comment\.created .*both signatures ok.*answered 200/u);
    for (const reader of ['brian', 'chika', 'dmitri']) {
      await playground.waitForLine(new RegExp(` mail +${reader}@example\\.test .*headers ok`, 'u'));
    }

    const second = await ghost.start();
    expect(await exitCodeOf(second)).toBe(1);
    expect(textOf(second)).toContain(
      `already runs on ${ghost.folder} (process ${playground.pid}, http://`,
    );
    expect(textOf(second)).toContain(`kill ${playground.pid}`);

    const children = descendants(playground.pid);
    playground.child.kill('SIGINT');
    // npm passes on the Ctrl-C that the terminal sent already.
    playground.child.kill('SIGINT');
    expect(await exitCodeOf(playground), textOf(playground)).toBe(0);
    await expectNothingLeft(children);
    expect(playground.lines().filter((line) => line.startsWith('Stopping: '))).toEqual([
      'Stopping: API',
      'Stopping: delivery',
      'Stopping: receiver',
      'Stopping: mail catcher',
      'Stopping: Postgres',
    ]);
  });

  test('a child that dies stops the rest, with its last lines and exit 1', async () => {
    const playground = await ghost.run();
    const children = descendants(playground.pid);
    const delivery = children.find((child) => child.command.includes('delivery/dist/main.js'));
    process.kill(delivery?.pid ?? 0, 'SIGKILL');
    expect(await exitCodeOf(playground)).toBe(1);
    expect(textOf(playground)).toContain('The delivery process ended by itself (signal SIGKILL)');
    await expectNothingLeft(children);
  });

  test('a second Ctrl-C ends at once what does not want to stop', async () => {
    const playground = await ghost.run();
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
    expect(await exitCodeOf(playground)).toBe(1);
    expect(textOf(playground)).toContain('Stopping at once.');
    await expectNothingLeft(children);
  });

  test('a playground that is killed leaves nothing running, and its data is taken on', async () => {
    const playground = await ghost.run();
    const children = descendants(playground.pid);
    await playground.kill9();
    await expectNothingLeft(children);
    const next = await ghost.run();
    expect((await next.stop('SIGTERM')).code).toBe(0);
  });
});
