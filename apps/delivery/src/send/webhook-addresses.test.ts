import { readFileSync } from 'node:fs';
import path from 'node:path';

import { GENERIC_REFUSAL } from '@ghost/policy';
import { describe, expect, test } from 'vitest';

import type { DnsAnswer } from '../../../../test/support/dns-server.js';
import { REPOSITORY } from '../../../../test/support/ghost-processes.js';
import { dnsServer, rawServer, receiver } from '../../../../test/support/servers-of-a-test.js';
import {
  factsOf,
  policyOf,
  PUBLIC_ONLY,
  webhookSender,
} from '../../../../test/support/webhook-sender.js';

describe('nobody reaches inside', () => {
  test.each([
    'http://127.0.0.1:PORT/',
    'http://localhost:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://2130706433:PORT/',
    'http://0x7f.1:PORT/',
    'http://0.0.0.0:PORT/',
    'http://169.254.169.254/',
  ])('%s holds its lane, and no connection is made', async (template) => {
    const target = await rawServer(() => undefined);
    const url = template.replace('PORT', String(target.port));
    const { outcome, note } = await webhookSender({ policy: PUBLIC_ONLY }).send(url);
    expect(outcome).toMatchObject({
      verdict: 'hold',
      reason: 'forbidden_address',
      facts: { message: GENERIC_REFUSAL, timings: { total: 0 } },
    });
    expect(JSON.stringify(outcome)).not.toContain(String(target.port));
    expect(note).toHaveProperty('refusal');
    expect(target.connections()).toBe(0);
  });

  test('a name that leads inside retries, with one generic sentence', async () => {
    const target = await rawServer(() => undefined);
    const dns = await dnsServer(() => ['127.0.0.1']);
    const { outcome, note } = await webhookSender({ policy: PUBLIC_ONLY, dns }).send(
      `http://inside.example.com:${target.port}/`,
    );
    expect(outcome).toMatchObject({
      verdict: 'retry',
      reason: 'forbidden_address',
      facts: { message: GENERIC_REFUSAL, timings: { total: 0 } },
    });
    expect(JSON.stringify(outcome)).not.toContain('127.0.0.1');
    expect(note).toEqual({
      refusal: 'loopback',
      setting: 'GHOST_ALLOW_CIDRS',
      address: '127.0.0.1',
    });
    expect(target.connections()).toBe(0);
  });

  test.each<[string, Record<string, string[]>]>([
    ['a public A beside an inner A', { A: ['93.184.215.14', '10.0.0.1'], AAAA: [] }],
    ['a public A beside an inner AAAA', { A: ['127.0.0.2'], AAAA: ['::1'] }],
    ['an AAAA that maps an inner IPv4', { A: ['127.0.0.2'], AAAA: ['::ffff:7f00:1'] }],
  ])('%s refuses the whole answer', async (_what, answers) => {
    const target = await rawServer(() => undefined);
    const dns = await dnsServer((_name, type) => answers[type] ?? []);
    // 127.0.0.2 plays the public address.
    const policy = policyOf({ allowCidrs: '127.0.0.2/32' });
    const { outcome } = await webhookSender({ policy, dns }).send(
      `http://mixed.example.com:${target.port}/`,
    );
    expect(outcome).toMatchObject({ verdict: 'retry', reason: 'forbidden_address' });
    expect(target.connections()).toBe(0);
  });

  test('a name that changes its address is judged at each connection', async () => {
    const target = await rawServer((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n')),
    );
    let rebound = false;
    const dns = await dnsServer((_name, type) =>
      type === 'A' ? [rebound ? '127.0.0.9' : '127.0.0.1'] : [],
    );
    const policy = policyOf({ allowCidrs: '127.0.0.1/32' });
    const { send } = webhookSender({ policy, dns });
    const url = `http://rebinding.example.com:${target.port}/`;
    expect((await send(url)).outcome.verdict).toBe('delivered');
    rebound = true;
    expect((await send(url)).outcome).toMatchObject({ reason: 'forbidden_address' });
    expect(target.connections()).toBe(1);
    // One look-up a connection: what is judged is what is dialed.
    expect(dns.questions().filter(({ type }) => type === 'A')).toHaveLength(2);
  });

  test('a port or form that the policy refuses holds with what is wrong', async () => {
    const { send } = webhookSender();
    const { outcome } = await send('http://example.com:6379/');
    expect(outcome).toMatchObject({ verdict: 'hold', reason: 'invalid_url' });
    expect(factsOf(outcome).message).toContain('port');
  });
});

describe("the operator's settings, as a webhook meets them", () => {
  const NAMED = 'http://endpoint.example.com:PORT/';

  test.each<[string, Parameters<typeof policyOf>[0], string, string, string, string]>([
    [
      'a denied range, however wide the allowed one',
      { allowCidrs: '127.0.0.0/8', denyCidrs: '127.0.0.1' },
      NAMED,
      'forbidden_address',
      'operator_denied',
      'GHOST_DENY_CIDRS',
    ],
    [
      'another port than the allowed one',
      { allowCidrs: '127.0.0.1:1' },
      NAMED,
      'forbidden_address',
      'loopback',
      'GHOST_ALLOW_CIDRS',
    ],
    [
      'a host that is vouched for, which is loopback',
      { allowHosts: 'endpoint.example.com,*.internal' },
      NAMED,
      'forbidden_address',
      'loopback',
      'GHOST_ALLOW_CIDRS',
    ],
    [
      'an inner name that nobody vouches for',
      { allowCidrs: '127.0.0.0/8', allowHosts: '*.corp.internal' },
      'http://ci.internal:PORT/',
      'forbidden_address',
      'name_internal',
      'GHOST_ALLOW_HOSTS',
    ],
    [
      'plain http where https is asked for',
      { allowCidrs: '127.0.0.0/8', httpsOnly: true },
      NAMED,
      'invalid_url',
      'url_https_only',
      'GHOST_WEBHOOK_HTTPS_ONLY',
    ],
    [
      'a port that is not listed',
      { allowCidrs: '127.0.0.0/8', ports: '443' },
      NAMED,
      'invalid_url',
      'port_refused',
      'GHOST_WEBHOOK_PORTS',
    ],
  ])('%s: refused', async (_what, raw, template, reason, refusal, setting) => {
    const target = await rawServer(() => undefined);
    const dns = await dnsServer((_name, type) => (type === 'A' ? ['127.0.0.1'] : []));
    const { send } = webhookSender({ policy: policyOf(raw), dns });
    const { outcome, note } = await send(template.replace('PORT', String(target.port)));
    expect(outcome).toMatchObject({ reason });
    if (reason === 'forbidden_address') expect(factsOf(outcome).message).toBe(GENERIC_REFUSAL);
    expect(note).toMatchObject({ refusal, setting });
    expect(target.connections()).toBe(0);
  });

  test.each<[string, (port: number) => Parameters<typeof policyOf>[0], string]>([
    ['an allowed range, by its port', (port) => ({ allowCidrs: `127.0.0.1:${port}` }), NAMED],
    [
      'an inner name that is vouched for, at an allowed address',
      () => ({ allowCidrs: '127.0.0.0/8', allowHosts: '*.internal' }),
      'http://ci.internal:PORT/',
    ],
    [
      'a port that is listed',
      (port) => ({ allowCidrs: '127.0.0.0/8', ports: `443,${port}` }),
      NAMED,
    ],
  ])('%s: delivered', async (_what, rawOf, template) => {
    const target = await receiver();
    const dns = await dnsServer((_name, type) => (type === 'A' ? ['127.0.0.1'] : []));
    const { send } = webhookSender({ policy: policyOf(rawOf(target.port)), dns });
    const { outcome } = await send(template.replace('PORT', String(target.port)));
    expect(outcome.verdict).toBe('delivered');
  });
});

describe('a DNS server without an answer', () => {
  interface Vector {
    id: string;
    behaviour?: Exclude<DnsAnswer, readonly string[]>;
    expect: string;
  }
  const file = path.join(REPOSITORY, 'packages/policy/fixtures/dns-vectors.json');
  const vectors = JSON.parse(readFileSync(file, 'utf8')) as Vector[];
  const reasons = { silent: 'dns_timeout', servfail: 'dns_failed', nxdomain: 'dns_not_found' };

  test.each(
    vectors.flatMap(({ id, behaviour, expect: verdict }) =>
      behaviour === undefined ? [] : [{ id, behaviour, verdict }],
    ),
  )('$id $behaviour: $verdict', async ({ behaviour, verdict }) => {
    const dns = await dnsServer(() => behaviour);
    const { send } = webhookSender({ dns, deadlineMs: 500 });
    const { outcome } = await send('http://endpoint.example.com:8080/');
    expect(outcome).toMatchObject({ verdict, reason: reasons[behaviour] });
  });
});
