import { afterEach, expect, test } from 'vitest';

import {
  type DnsAnswer,
  type DnsQuestion,
  startDnsServer,
} from '../../../../test/support/dns-server.js';
import { createResolver } from './resolver.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

async function resolverWith(answer: (question: DnsQuestion) => DnsAnswer, ttlSeconds?: number) {
  const server = await startDnsServer(answer, ttlSeconds);
  const resolver = createResolver([server.address]);
  cleanups.push(
    () => server.stop(),
    () => resolver.close(),
  );
  return { server, resolver };
}

test('tells every address of both families', async () => {
  const { resolver } = await resolverWith(() => ['192.0.2.1', '192.0.2.2', '2001:db8::1']);
  expect(await resolver.resolve('both.example.com')).toEqual({
    found: true,
    addresses: ['192.0.2.1', '192.0.2.2', '2001:db8::1'],
  });
});

test('a family without a record is no fault; nor is one that fails', async () => {
  const { resolver } = await resolverWith(({ name, type }) => {
    if (type === 'A') return name.startsWith('six') ? [] : ['192.0.2.1'];
    if (name.startsWith('six')) return ['2001:db8::1'];
    return name.startsWith('broken') ? 'servfail' : [];
  });
  expect(await resolver.resolve('four.example.com')).toMatchObject({ addresses: ['192.0.2.1'] });
  expect(await resolver.resolve('six.example.com')).toMatchObject({ addresses: ['2001:db8::1'] });
  expect(await resolver.resolve('broken.example.com')).toMatchObject({ addresses: ['192.0.2.1'] });
});

test('a server that is silent about AAAA delays a name by a second at most', async () => {
  const { resolver } = await resolverWith(({ type }) => (type === 'A' ? ['192.0.2.1'] : 'silent'));
  const startedAt = performance.now();
  expect(await resolver.resolve('quiet.example.com')).toMatchObject({ found: true });
  expect(performance.now() - startedAt).toBeLessThan(1_700);
});

test('says why nothing was found: the failure, rather than the absence', async () => {
  const { resolver } = await resolverWith(({ name, type }) => {
    if (name.startsWith('gone')) return 'nxdomain';
    if (name.startsWith('empty')) return [];
    return type === 'A' ? [] : 'servfail';
  });
  expect(await resolver.resolve('gone.example.com')).toEqual({ found: false, code: 'ENOTFOUND' });
  expect(await resolver.resolve('empty.example.com')).toEqual({ found: false, code: 'ENODATA' });
  expect(await resolver.resolve('half.example.com')).toEqual({ found: false, code: 'ESERVFAIL' });
});

test('tells hundreds of addresses', async () => {
  const many = Array.from({ length: 300 }, (_, n) => `192.0.${Math.floor(n / 256)}.${n % 256}`);
  const { resolver } = await resolverWith(() => many);
  expect(await resolver.resolve('many.example.com')).toEqual({ found: true, addresses: many });
});

test('keeps no answer, however long it may be kept: what is dialed was judged for this moment', async () => {
  let last = 0;
  const { resolver } = await resolverWith(({ type }) => {
    if (type === 'AAAA') return [];
    last += 1;
    return [`192.0.2.${last}`];
  }, 3_600);
  for (const address of ['192.0.2.1', '192.0.2.2']) {
    expect(await resolver.resolve('moving.example.com')).toEqual({
      found: true,
      addresses: [address],
    });
  }
});

test('look-ups of one name that overlap are one; later ones ask again', async () => {
  const { server, resolver } = await resolverWith(() => ['192.0.2.1']);
  await Promise.all(Array.from({ length: 50 }, () => resolver.resolve('busy.example.com')));
  const questions = () => server.questions().filter(({ type }) => type === 'A').length;
  expect(questions()).toBe(1);
  expect(resolver.pending).toBe(0);
  await resolver.resolve('busy.example.com');
  expect(questions()).toBe(2);
});

test('200 names that are never answered keep no other waiting', async () => {
  const { resolver } = await resolverWith(({ name, type }) => {
    if (name.startsWith('dead')) return 'silent';
    return type === 'A' ? ['192.0.2.1'] : [];
  });
  const dead = Array.from({ length: 200 }, (_, n) => resolver.resolve(`dead-${n}.example.com`));
  const startedAt = performance.now();
  for (let n = 0; n < 20; n += 1) {
    expect(await resolver.resolve(`healthy-${n}.example.com`)).toMatchObject({ found: true });
  }
  expect(performance.now() - startedAt).toBeLessThan(700);
  expect(resolver.pending).toBe(200);
  resolver.close();
  expect((await Promise.all(dead)).every(({ found }) => !found)).toBe(true);
});
