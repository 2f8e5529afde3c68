import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

import { onTestFinished } from 'vitest';

import { freePort } from './ghost-processes.js';

/** Debian has it as `pgbouncer`. */
export const HAS_PG_BOUNCER = spawnSync('pgbouncer', ['--version']).status === 0;

/**
 * PgBouncer in transaction mode before a database that asks for no password, set as docs/operating.md says; it ends with
 * the test.
 * @returns the URL of the database behind it
 */
export async function startPgBouncer(databaseUrl: string): Promise<string> {
  const { hostname, port: behind, username } = new URL(databaseUrl);
  const folder = await mkdtemp(path.join(os.tmpdir(), 'ghost-pgbouncer-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const port = await freePort();
  const users = path.join(folder, 'users.txt');
  await writeFile(users, `"${username}" ""\n`);
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: users,
    pool_mode: 'transaction',
    // Fewer than the processes ask for: a transaction is mostly on another connection than the one before.
    default_pool_size: 4,
    ignore_startup_parameters: 'statement_timeout,idle_in_transaction_session_timeout',
  };
  const file = path.join(folder, 'pgbouncer.ini');
  await writeFile(
    file,
    [
      '[databases]',
      `* = host=${hostname} port=${behind}`,
      '[pgbouncer]',
      ...Object.entries(settings).map(([name, value]) => `${name} = ${value}`),
    ].join('\n'),
  );
  // It refuses to run as root.
  const asNobody = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  for (const place of [folder, users, file]) await chmod(place, 0o755);
  const child = spawn('pgbouncer', [...asNobody, file], { stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGINT');
    await once(child, 'exit');
  });
  await listening(child);
  const url = new URL(databaseUrl);
  url.port = String(port);
  return url.href;
}

function listening(child: ReturnType<typeof spawn>): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = '';
    child.stderr?.on('data', (bytes: Buffer) => {
      said += bytes.toString();
      if (said.includes('process up')) resolve();
    });
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`PgBouncer did not start: ${said}`)));
  });
}
