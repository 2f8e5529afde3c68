import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createServer, rootCertificates, type TlsOptions } from 'node:tls';

import { describe, expect, onTestFinished, test } from 'vitest';

import { startProcess } from '../../../../test/support/processes.js';
import { rawServer, secureReceiver } from '../../../../test/support/servers-of-a-test.js';
import {
  EXPIRED_CERTIFICATE,
  FUTURE_CERTIFICATE,
  SIGNED_CERTIFICATE,
  TEST_CERTIFICATE,
  TEST_CERTIFICATE_KEY,
} from '../../../../test/support/tls-certificate.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { LOOPBACK_ALLOWED } from '../../../../test/support/webhook-sender.js';
import { codeOf, dial, type Dialer, type DialProgress } from './guarded-connection.js';

const NAME = 'hooks.example.com';
/** No library makes a server that gives as many tickets as one likes. */
const OPENSSL = 'openssl';
const TRUST = [TEST_CERTIFICATE];

interface Aim {
  port: number;
  host?: string;
  trust?: readonly string[];
  insecure?: boolean;
  proxy?: { host: string; port: number };
}

const progress = (): DialProgress => ({ phase: 'dns', timings: {} });

/** Every name leads to loopback. */
function dialerOf({ trust, proxy }: Pick<Aim, 'trust' | 'proxy'>): Dialer {
  return {
    resolver: {
      resolve: async () => ({ found: true, addresses: ['127.0.0.1'] }),
      pending: 0,
      close: () => undefined,
    },
    policy: LOOPBACK_ALLOWED,
    ...(trust ? { certificateAuthorities: trust } : {}),
    ...(proxy ? { proxy: { ...proxy, secure: true, user: null, pass: null } } : {}),
  };
}

/** Dials a secure endpoint that its name leads to on loopback; `ok`, or the reason and code of the fault. */
async function dialed({ port, host = NAME, insecure, ...aim }: Aim) {
  const attempt = new AbortController();
  const literal = host === '127.0.0.1';
  const target = {
    host,
    port,
    secure: true,
    literal,
    ...(insecure === undefined ? {} : { insecure }),
  };
  const result = await dial(target, dialerOf(aim), progress(), attempt.signal);
  onTestFinished(() => attempt.abort('over'));
  if (!result.ok) return result;
  result.socket.destroy();
  return 'ok';
}

interface Case {
  server: TlsOptions;
  host?: string;
  trust?: readonly string[];
  reason: string;
  code: string;
}

const BAD_CERTIFICATES: Record<string, Case> = {
  'that has expired': {
    server: { cert: EXPIRED_CERTIFICATE },
    trust: TRUST,
    reason: 'tls_expired',
    code: 'CERT_HAS_EXPIRED',
  },
  'that is not valid yet': {
    server: { cert: FUTURE_CERTIFICATE },
    trust: TRUST,
    reason: 'tls_expired',
    code: 'CERT_NOT_YET_VALID',
  },
  'that is self-signed': {
    server: { cert: TEST_CERTIFICATE },
    reason: 'tls_self_signed',
    code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  },
  'of an unknown authority that is sent along': {
    server: { cert: SIGNED_CERTIFICATE + TEST_CERTIFICATE },
    reason: 'tls_unknown_authority',
    code: 'SELF_SIGNED_CERT_IN_CHAIN',
  },
  'of an authority that is left out': {
    server: { cert: SIGNED_CERTIFICATE },
    reason: 'tls_unknown_authority',
    code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  },
  'for another name': {
    server: { cert: SIGNED_CERTIFICATE },
    host: 'hooks.example.net',
    trust: TRUST,
    reason: 'tls_wrong_host',
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  },
};

describe.each(Object.entries(BAD_CERTIFICATES))('a certificate %s', (_, bad) => {
  const { server, reason, code, ...aim } = bad;

  test('is refused, with its own reason', async () => {
    const { port } = await secureReceiver(server);
    expect(await dialed({ ...aim, port })).toEqual({ ok: false, kind: 'fault', reason, code });
    expect(await dialed({ ...aim, port, insecure: false })).toMatchObject({ reason });
  });

  test('is taken where the hook says so', async () => {
    const { port } = await secureReceiver(server);
    expect(await dialed({ ...aim, port, insecure: true })).toBe('ok');
  });
});

describe('a proxy that is spoken to over TLS', () => {
  /** Opens a tunnel to one port, and hands on what comes. */
  async function secureProxy(certificate: string, port: number) {
    const server = createServer({ key: TEST_CERTIFICATE_KEY, cert: certificate }, (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        const upstream = connect(port, '127.0.0.1');
        upstream.on('error', () => undefined);
        socket.on('close', () => upstream.destroy());
        socket.pipe(upstream).pipe(socket);
      });
    }).listen(0, '127.0.0.1');
    server.on('tlsClientError', () => undefined);
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
  }

  test('carries TLS inside of TLS', async () => {
    const { port } = await secureReceiver({ cert: SIGNED_CERTIFICATE });
    const proxy = await secureProxy(SIGNED_CERTIFICATE, port);
    expect(await dialed({ port: 443, trust: TRUST, proxy })).toBe('ok');
  });

  test('is verified also for a hook that takes any certificate', async () => {
    const { port } = await secureReceiver({ cert: EXPIRED_CERTIFICATE });
    const [good, bad] = [
      await secureProxy(SIGNED_CERTIFICATE, port),
      await secureProxy(EXPIRED_CERTIFICATE, port),
    ];
    const aim = { port: 443, trust: TRUST };
    expect(await dialed({ ...aim, proxy: good })).toMatchObject({ reason: 'tls_expired' });
    expect(await dialed({ ...aim, proxy: good, insecure: true })).toBe('ok');
    expect(await dialed({ ...aim, proxy: bad, insecure: true })).toMatchObject({
      reason: 'proxy_failed',
    });
  });
});

describe('a certificate of the authority that the operator adds', () => {
  test('is taken, for its name and its address', async () => {
    const { port } = await secureReceiver({ cert: SIGNED_CERTIFICATE });
    const trust = [...rootCertificates, TEST_CERTIFICATE];
    expect(await dialed({ port, trust })).toBe('ok');
    expect(await dialed({ port, trust, host: '127.0.0.1' })).toBe('ok');
  });
});

describe('another protocol is no certificate fault, and no setting of a hook lifts it', () => {
  test.each<[string, TlsOptions, string]>([
    [
      'TLS 1.1',
      { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
      'tls_protocol',
    ],
    ['HTTP/2 alone', { ALPNProtocols: ['h2'] }, 'tls_protocol'],
    // The server would choose how much it costs us.
    [
      'finite-field Diffie-Hellman alone',
      { minVersion: 'TLSv1.3', ecdhCurve: 'ffdhe8192' },
      'tls_protocol',
    ],
  ])('%s', async (_, server, reason) => {
    const { port } = await secureReceiver(server);
    for (const insecure of [false, true]) {
      expect(await dialed({ port, trust: TRUST, insecure })).toMatchObject({ reason });
    }
  });

  test.each([
    ['plain HTTP', 'HTTP/1.1 400 Bad Request\r\n\r\n', 'tls_protocol'],
    ['nothing, and closes', '', 'tls_failed'],
  ])('%s', async (_, answer, reason) => {
    const { port } = await rawServer((socket) => socket.once('data', () => socket.end(answer)));
    for (const insecure of [false, true]) {
      expect(await dialed({ port, trust: TRUST, insecure })).toMatchObject({ reason });
    }
  });

  test('a client certificate that is asked for', async () => {
    const { port } = await secureReceiver({
      requestCert: true,
      rejectUnauthorized: true,
      // A TLS 1.3 handshake is over for us before we are refused.
      maxVersion: 'TLSv1.2',
    });
    expect(await dialed({ port, trust: TRUST })).toMatchObject({ reason: 'tls_protocol' });
  });
});

test('a server that asks for a handshake again is not given one: each costs more than a webhook', async () => {
  const ends: string[] = [];
  const server = createServer(
    { key: TEST_CERTIFICATE_KEY, cert: TEST_CERTIFICATE, maxVersion: 'TLSv1.2' },
    (socket) => {
      socket.on('error', (error) => ends.push(codeOf(error) ?? error.message));
      socket.once('data', () =>
        socket.renegotiate({ rejectUnauthorized: false, requestCert: false }, () =>
          ends.push('given'),
        ),
      );
    },
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const attempt = new AbortController();
  onTestFinished(() => attempt.abort('over'));
  const target = { host: NAME, port, secure: true, literal: false };
  const result = await dial(target, dialerOf({ trust: TRUST }), progress(), attempt.signal);
  expect(result).toMatchObject({ ok: true });
  if (result.ok) result.socket.resume().write('POST');
  await waitUntil(() => ends.length > 0, { what: 'the end of the second handshake' });
  expect(ends).toEqual(['ERR_SSL_NO_RENEGOTIATION']);
});

test('finite-field Diffie-Hellman is not offered, in no version of TLS', async () => {
  let hello: Buffer | undefined;
  const { port } = await rawServer((socket) =>
    socket.once('data', (bytes) => {
      hello = bytes;
    }),
  );
  const attempt = new AbortController();
  onTestFinished(() => attempt.abort('over'));
  const target = { host: NAME, port, secure: true, literal: false };
  void dial(target, dialerOf({}), progress(), attempt.signal);
  const { suites, groups } = offeredIn(await waitUntil(() => hello, { what: 'a ClientHello' }));
  const offered = new Set(suites);
  // With RSA: AES of all kinds, ChaCha20, CCM, Camellia (RFC 5246, 5288, 7905, 6655, 5932).
  const finiteField = [
    0x0033, 0x0039, 0x0067, 0x006b, 0x009e, 0x009f, 0xccaa, 0xc09e, 0xc09f, 0x0045, 0x0088,
  ];
  expect(finiteField.filter((suite) => offered.has(suite))).toEqual([]);
  expect(suites).toEqual(expect.arrayContaining([0x1301, 0xc02b, 0xc02f]));
  // X25519, P-256, P-384, P-521; ffdhe2048 and larger are 0x0100 to 0x0104.
  expect(groups).toEqual([0x001d, 0x0017, 0x0018, 0x0019]);
});

test.runIf(spawnSync(OPENSSL, ['version']).status === 0)(
  'a server that gives tickets without end is left',
  async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'ghost-tickets-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = path.join(folder, 'certificate.pem');
    writeFileSync(file, TEST_CERTIFICATE + TEST_CERTIFICATE_KEY);
    const portOf = async (tickets: number) => {
      const server = await startProcess({
        name: 'openssl s_server',
        command: [OPENSSL, 's_server', '-accept', '127.0.0.1:0', '-www', '-tls1_3'],
        args: ['-cert', file, '-num_tickets', String(tickets)],
        ready: /^ACCEPT /u,
      });
      return Number(
        server
          .lines()
          .findLast((line) => line.startsWith('ACCEPT'))
          ?.split(':')[1],
      );
    };
    const endOf = async (tickets: number) => {
      const attempt = new AbortController();
      onTestFinished(() => attempt.abort('over'));
      const target = { host: NAME, port: await portOf(tickets), secure: true, literal: false };
      const result = await dial(target, dialerOf({ trust: TRUST }), progress(), attempt.signal);
      if (!result.ok) return result.kind;
      const { socket } = result;
      let code: string | undefined;
      socket.on('error', (error) => {
        code = codeOf(error);
      });
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.resume().write('GET / HTTP/1.0\r\n\r\n');
      await closed;
      return code ?? 'closed';
    };
    // As many as servers give, and its page.
    expect(await endOf(4)).toBe('closed');
    expect(await endOf(100)).toBe('ERR_SSL_TOO_MANY_TICKETS');
  },
);

/** Cipher suites and groups of a ClientHello (RFC 8446 §4.1.2, §4.2.7). */
function offeredIn(record: Buffer) {
  const numbers = (from: number, bytes: number) =>
    Array.from({ length: bytes / 2 }, (_, index) => record.readUInt16BE(from + 2 * index));
  // Record and handshake headers, version and random; then session id, suites, compression, extensions.
  let at = 5 + 4 + 2 + 32;
  at += 1 + record.readUInt8(at);
  const suites = numbers(at + 2, record.readUInt16BE(at));
  at += 2 + record.readUInt16BE(at);
  at += 1 + record.readUInt8(at) + 2;
  while (record.readUInt16BE(at) !== 10) at += 4 + record.readUInt16BE(at + 2);
  return { suites, groups: numbers(at + 6, record.readUInt16BE(at + 4)) };
}
