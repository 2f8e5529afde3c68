import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions, type TLSSocket } from 'node:tls';

import { onTestFinished } from 'vitest';

import { type DnsAnswer, type DnsServer, startDnsServer } from './dns-server.js';
import { type MailCatcherOptions, startMailCatcher } from './mail-catcher.js';
import { type RawServer, startRawServer } from './raw-server.js';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from './tls-certificate.js';
import { type ReceiverHandler, startReceiver, type WebhookReceiver } from './webhook-receiver.js';

/** Stops with its test what the test started; what was started last stops first. */
export function untilTestEnds<Started extends { stop(): Promise<unknown> }>(
  started: Started,
): Started {
  onTestFinished(async () => {
    await started.stop();
  });
  return started;
}

export async function receiver(handler?: ReceiverHandler, host?: string): Promise<WebhookReceiver> {
  return untilTestEnds(await startReceiver(handler, host));
}

export async function rawServer(
  onSocket: (socket: Socket, number: number) => void,
  host?: string,
  port?: number,
): Promise<RawServer> {
  return untilTestEnds(await startRawServer(onSocket, host, port === undefined ? {} : { port }));
}

export async function dnsServer(
  answer: (name: string, type: string) => DnsAnswer,
): Promise<DnsServer> {
  return untilTestEnds(await startDnsServer(({ name, type }) => answer(name, type)));
}

export async function mailCatcher(options?: MailCatcherOptions) {
  return untilTestEnds(await startMailCatcher(options));
}

/** Answers 200 over TLS; keeps the names it was asked for and the heads that came. `more` goes to the TLS server. */
export async function secureReceiver(more: TlsOptions = {}) {
  const asked: (string | false | null)[] = [];
  const heads: string[] = [];
  const server = createTlsServer(
    { key: TEST_CERTIFICATE_KEY, cert: TEST_CERTIFICATE, ...more },
    (socket: TLSSocket) => {
      asked.push(socket.servername);
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        heads.push(chunk.toString('latin1'));
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      });
    },
  ).listen(0, '127.0.0.1');
  // A handshake that fails is the client's to tell of.
  server.on('tlsClientError', () => undefined);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { asked, heads, port: (server.address() as AddressInfo).port };
}
