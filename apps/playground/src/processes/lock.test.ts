import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { processStart } from '../embedded/process-identity.js';
import { LockHeldError, takeLock } from './lock.js';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'ghost-lock-'));
  file = path.join(folder, 'lock');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('a second taker hears who holds it, until it is released', async () => {
  const lock = await takeLock(file);
  await expect(takeLock(file)).rejects.toMatchObject({ owner: { pid: process.pid } });
  await lock.release();
  const again = await takeLock(file);
  again.releaseNow();
  expect(await readdir(folder)).toEqual([]);
});

test('of many at once one gets it', async () => {
  const tries = await Promise.allSettled(Array.from({ length: 5 }, () => takeLock(file)));
  expect(tries.filter((one) => one.status === 'fulfilled')).toHaveLength(1);
});

test('the lock of a dead process is taken over', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  const pid = child.pid ?? 0;
  await once(child, 'spawn');
  await writeFile(file, JSON.stringify({ pid, startedAt: processStart(pid) }));
  await expect(takeLock(file)).rejects.toBeInstanceOf(LockHeldError);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await takeLock(file);
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ pid: process.pid });
});

test('the pid of a dead process that another one has now, and a broken lock, hold nobody up', async () => {
  await writeFile(file, JSON.stringify({ pid: process.pid, startedAt: 'another time' }));
  await (await takeLock(file)).release();
  await writeFile(file, 'half a lo');
  await (await takeLock(file)).release();
});

test('of many that find the same dead owner at once, one takes over', async () => {
  // One that comes later is in another step when an earlier one has taken over.
  const late = async (turns: number) => {
    for (let turn = 0; turn < turns; turn += 1) await readdir(folder);
    return takeLock(file);
  };
  for (let round = 0; round < 40; round += 1) {
    await writeFile(file, JSON.stringify({ pid: 999_999_999, startedAt: '1' }));
    const tries = await Promise.allSettled(Array.from({ length: 8 }, (_, index) => late(index)));
    const got = tries.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const refused = tries.flatMap((one) =>
      one.status === 'rejected' ? [one.reason as Error] : [],
    );
    expect(got).toHaveLength(1);
    expect(new Set(refused.map((error) => error.name))).toEqual(new Set(['LockHeldError']));
    await got[0]?.release();
    expect(await readdir(folder)).toEqual([]);
  }
});

test('a take-over whose process died in the middle holds nobody up', async () => {
  const dead = JSON.stringify({ pid: 999_999_999, startedAt: '1' });
  await writeFile(file, dead);
  await writeFile(`${file}.takeover`, dead);
  const lock = await takeLock(file);
  expect(lock.ownerDied).toBe(true);
  await lock.release();
  expect(await readdir(folder)).toEqual([]);
});

test('says where its owner can be reached, once that is known', async () => {
  const lock = await takeLock(file);
  await lock.tell('http://127.0.0.1:3000');
  await expect(takeLock(file)).rejects.toMatchObject({
    owner: { pid: process.pid, url: 'http://127.0.0.1:3000' },
  });
  await lock.release();
});
