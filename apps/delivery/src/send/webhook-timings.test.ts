import { expect, test } from 'vitest';

import {
  dnsServer,
  rawServer,
  receiver,
  secureReceiver,
} from '../../../../test/support/servers-of-a-test.js';
import { TEST_CERTIFICATE } from '../../../../test/support/tls-certificate.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { factsOf, webhookSender } from '../../../../test/support/webhook-sender.js';

const DEADLINE_MS = 150;
const MS = expect.any(Number);

test('an attempt holds what each phase took', async () => {
  const target = await secureReceiver();
  const dns = await dnsServer(() => ['127.0.0.1']);
  const { send } = webhookSender({ dns, trust: TEST_CERTIFICATE });
  const { outcome } = await send(`https://hooks.example.com:${target.port}/`);
  const { timings } = factsOf(outcome);
  expect(timings).toEqual({ dns: MS, connect: MS, tls: MS, firstByte: MS, total: MS });
  const { dns: dnsMs = 0, connect = 0, tls = 0, firstByte = 0, total } = timings;
  // Each is rounded by itself.
  expect(total).toBeGreaterThanOrEqual(dnsMs + connect + tls + firstByte - 4);
});

test('on a connection that was kept there was nothing to look up, connect or secure', async () => {
  const target = await receiver();
  const { send, kept } = webhookSender();
  await send(target.url);
  await waitUntil(() => kept.size === 1, { what: 'the connection to be kept', everyMs: 1 });
  const { outcome } = await send(target.url);
  expect(factsOf(outcome).timings).toEqual({ firstByte: MS, total: MS });
});

test('an address in the URL takes no look-up, and a plain one no handshake', async () => {
  const target = await receiver();
  const { outcome } = await webhookSender().send(target.url);
  expect(factsOf(outcome).timings).toEqual({ connect: MS, firstByte: MS, total: MS });
});

test('a phase that did not end has none; the whole is told always', async () => {
  const silent = await rawServer(() => undefined);
  const gone = await rawServer(() => undefined);
  await gone.stop();
  const dns = await dnsServer((name) =>
    name === 'slow.example.com'
      ? 'silent'
      : name === 'gone.example.com'
        ? 'nxdomain'
        : ['127.0.0.1'],
  );
  const { send } = webhookSender({ dns, deadlineMs: DEADLINE_MS });
  const timingsOf = async (url: string) => factsOf((await send(url)).outcome).timings;
  expect(await timingsOf('http://gone.example.com/')).toEqual({ total: MS });
  const overdue = await timingsOf('http://slow.example.com/');
  expect(overdue).toEqual({ total: MS });
  expect(overdue.total).toBeGreaterThanOrEqual(DEADLINE_MS - 5);
  expect(await timingsOf(`http://found.example.com:${gone.port}/`)).toEqual({ dns: MS, total: MS });
  expect(await timingsOf(`https://found.example.com:${silent.port}/`)).toEqual({
    dns: MS,
    connect: MS,
    total: MS,
  });
  expect(await timingsOf(`http://found.example.com:${silent.port}/`)).toEqual({
    dns: MS,
    connect: MS,
    total: MS,
  });
});
