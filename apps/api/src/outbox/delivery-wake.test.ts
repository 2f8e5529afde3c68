import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { waitUntil } from '../../../../test/support/wait-until.js';
import { DeliveryWake } from './delivery-wake.js';

let server: Server;
let waiting: ServerResponse[];
let problems: Error[];

beforeEach(async () => {
  waiting = [];
  problems = [];
  server = createServer((_request, response) => {
    waiting.push(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const wakeOf = (port = (server.address() as AddressInfo).port) =>
  new DeliveryWake(`http://127.0.0.1:${port}/wake`, (error) => problems.push(error));
const posts = (count: number) =>
  waitUntil(() => waiting.length === count, { what: `${count} posts` });

test('has one call under way and at most one behind it, however often it is asked', async () => {
  const wake = wakeOf();
  for (let n = 0; n < 100; n += 1) wake.wake();
  await posts(1);
  waiting[0]?.end();
  await posts(2);
  waiting[1]?.end();
  await wake.stop();
  expect(waiting).toHaveLength(2);
  expect(problems).toEqual([]);
});

test('tells of a call that fails, and goes on', async () => {
  const wake = wakeOf(1);
  wake.wake();
  await waitUntil(() => problems.length === 1, { what: 'the problem' });
  wake.wake();
  await waitUntil(() => problems.length === 2, { what: 'the second problem' });
});

test('gives up on a receiver that does not answer', async () => {
  const wake = wakeOf();
  wake.wake();
  await wake.stop();
  expect(problems.map((error) => error.name)).toEqual(['AbortError']);
});

test('does nothing without a URL, or once it is stopped', async () => {
  const none = new DeliveryWake(null, (error) => problems.push(error));
  none.wake();
  await none.stop();
  const wake = wakeOf();
  await wake.stop();
  wake.wake();
  await wake.stop();
  expect(waiting).toEqual([]);
  expect(problems).toEqual([]);
});
