import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { generateKeyEntry } from '@ghost/vault';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { freePort } from '../../../test/support/ghost-processes.js';
import {
  exitCodeOf,
  PLAYGROUND_TIMEOUT_MS,
  PlaygroundFolder,
  textOf,
} from '../../../test/support/playground-process.js';
import { MARKER_FILE } from './claim-folder.js';

vi.setConfig({ testTimeout: PLAYGROUND_TIMEOUT_MS });

let ghost: PlaygroundFolder;
/** Of a good start: another test file may make one at the same moment, on the usual port. */
let once: string[];
beforeAll(async () => {
  ghost = await PlaygroundFolder.create();
  once = ['--once', '--comments', '1', '--port', String(await freePort())];
});
afterAll(() => ghost.remove());

describe('what is wrong is said in one message, with the exit code of its kind, and nothing stays', () => {
  async function fails(args: string[], env: Record<string, string> = {}) {
    const playground = await ghost.start(args, env);
    const code = await exitCodeOf(playground);
    expect(textOf(playground)).not.toMatch(/^ +at /mu);
    return { code, text: textOf(playground) };
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

  test('69: a port in use', async () => {
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
  });

  test('69: a database that is out of reach, without its password', async () => {
    const url = 'postgres://ghost:hunter2@127.0.0.1:1/ghost';
    const result = await fails([], { DATABASE_URL: url });
    expect(result.code).toBe(69);
    expect(result.text).toContain(
      'Cannot use the database "ghost" at 127.0.0.1:1: nothing listens there.',
    );
    expect(result.text).not.toContain('hunter2');
  });

  test('69: a Postgres that does not start', async () => {
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
      const anew = await ghost.start(['--dir', broken, '--reset', ...once]);
      expect(await exitCodeOf(anew), textOf(anew)).toBe(0);
      expect(textOf(anew)).toMatch(/^Left, as the playground did not make it: notes\.txt$/mu);
      expect(textOf(anew)).toMatch(/^Making the data of Postgres .*…$/mu);
    } finally {
      await rm(broken, { recursive: true, force: true });
    }
  });

  test('78: a key ring that cannot open what is stored; --reset starts anew', async () => {
    const made = await ghost.start(once);
    expect(await exitCodeOf(made), textOf(made)).toBe(0);
    const other = { GHOST_SECRET_KEYS: generateKeyEntry('other') };
    const result = await fails([], other);
    expect(result.code).toBe(78);
    expect(result.text).toMatch(/opens 0 of 3 webhook secrets .*key "playground" is not in/u);
    const playground = await ghost.start(['--reset', ...once], other);
    expect(await exitCodeOf(playground), textOf(playground)).toBe(0);
  });
});
