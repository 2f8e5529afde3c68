import { describe, expect, onTestFinished, test } from 'vitest';

import { type Call, interceptSockets } from '../../../../test/support/intercepted-sockets.js';
import { rawServer } from '../../../../test/support/servers-of-a-test.js';
import { policyOf } from '../../../../test/support/webhook-sender.js';
import { dial } from './guarded-connection.js';

interface Aim {
  policy?: Parameters<typeof policyOf>[0];
  host?: string;
  port?: number;
  literal?: boolean;
  answers?: readonly string[];
}

/** Dials, and tells what came of it and which addresses were dialed. */
async function dialed(aim: Aim, instead?: Call) {
  const { policy = {}, host = 'endpoint.example.com', port = 443, answers = [] } = aim;
  const sockets = interceptSockets(instead);
  const attempt = new AbortController();
  onTestFinished(() => {
    attempt.abort('over');
    sockets.stop();
  });
  const result = await dial(
    { host, port, secure: false, literal: aim.literal === true },
    {
      resolver: {
        resolve: async () => ({ found: true, addresses: [...answers] }),
        pending: 0,
        close: () => undefined,
      },
      policy: policyOf(policy),
    },
    { phase: 'dns', timings: {} },
    attempt.signal,
  );
  sockets.stop();
  return { result, calls: sockets.take() };
}

async function hostsOf(aim: Aim): Promise<string[]> {
  return (await dialed(aim)).calls.map(({ host }) => host);
}

describe('what is dialed', () => {
  test('are the addresses that were judged, families in turn, never a name', async () => {
    const answers = ['93.184.215.14', '93.184.215.15', '2606:4700:4700::1111'];
    expect(await hostsOf({ answers })).toEqual([
      '93.184.215.14',
      '2606:4700:4700::1111',
      '93.184.215.15',
    ]);
    expect((await dialed({ answers, port: 8443 })).calls[0]).toEqual({
      host: '93.184.215.14',
      port: 8443,
    });
  });

  test('are eight addresses at most, all of which were judged', async () => {
    const many = Array.from({ length: 300 }, (_, n) => `93.184.${n % 200}.14`);
    expect(await hostsOf({ answers: many })).toHaveLength(8);
    expect(await hostsOf({ answers: [...many, '10.0.0.1'] })).toEqual([]);
  });

  test('is a literal as it was judged', async () => {
    expect(await hostsOf({ host: '93.184.215.14', literal: true })).toEqual(['93.184.215.14']);
  });

  test('may be private where the operator vouches for the host, and only then', async () => {
    const answers = ['10.0.0.1'];
    const policy = { allowHosts: '*.corp.example,ci.internal', denyCidrs: '10.9.0.0/16' };
    expect(await hostsOf({ policy, host: 'a.corp.example', answers })).toEqual(answers);
    expect(await hostsOf({ policy, host: 'ci.internal', answers })).toEqual(answers);
    expect(await hostsOf({ policy, host: 'corp.example', answers })).toEqual([]);
    for (const address of ['127.0.0.1', '169.254.169.254', '10.9.0.1', '::1', 'fd00:ec2::254']) {
      expect(await hostsOf({ policy, host: 'ci.internal', answers: [address] })).toEqual([]);
    }
  });

  test('may be NAT64 of a public address where the operator says so', async () => {
    const [outer, inner] = ['64:ff9b::808:808', '64:ff9b::7f00:1'];
    expect(await hostsOf({ answers: [outer] })).toEqual([]);
    const policy = { allowNat64: true };
    expect(await hostsOf({ policy, answers: [outer] })).toEqual([outer]);
    expect(await hostsOf({ policy, answers: [outer, inner] })).toEqual([]);
  });
});

describe('the address at the other end of the socket', () => {
  test('is judged once more: nothing is sent where a router leads inside', async () => {
    const inner = await rawServer(() => undefined);
    const instead = { host: '127.0.0.1', port: inner.port };
    const { result, calls } = await dialed({ answers: ['93.184.215.14'] }, instead);
    expect(calls).toEqual([{ host: '93.184.215.14', port: 443 }]);
    expect(result).toEqual({
      ok: false,
      kind: 'forbidden',
      reason: 'loopback',
      address: '127.0.0.1',
    });
    await expect.poll(() => inner.open()).toBe(0);
  });
});
