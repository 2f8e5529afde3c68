import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { openDemoState } from './demo-state.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'ghost-state-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('tokens, secrets and the port are the same at the next start, for the eyes of the owner', async () => {
  const first = await openDemoState(folder, null);
  const secret = first.secretOf('all-events');
  expect(first.secretOf('all-events')).toBe(secret);
  expect(first.secretOf('private')).not.toBe(secret);
  first.state.tokens['ada'] = 'ghs_token';
  first.state.receiverPort = 4000;
  await first.save();

  const second = await openDemoState(folder, null);
  expect(second.state).toEqual(first.state);
  expect((await stat(second.file)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['demo.json']);
});

test('each database has its own, whatever the password', async () => {
  const urls = ['postgres://a:x@h/one', 'postgres://a:y@h/one', 'postgres://a:x@h/two', null];
  const files = await Promise.all(urls.map(async (url) => (await openDemoState(folder, url)).file));
  expect(files[0]).toBe(files[1]);
  expect(new Set(files).size).toBe(3);
  expect(files.join()).not.toContain(':x@');
});
