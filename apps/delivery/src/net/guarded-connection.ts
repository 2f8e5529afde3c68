import { isIP, isIPv6, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

import type { AttemptTimings } from '@ghost/contract';
import { type AddressPolicy, checkAnswers, type PolicyReason } from '@ghost/policy';

import {
  networkFaultReason,
  type NetworkFaultReason,
  type WebhookPhase,
} from '../rules/network-fault.js';
import { type EgressProxy, openTunnel } from './egress-proxy.js';
import { openSocket, type Place } from './open-socket.js';
import type { Resolver } from './resolver.js';
import { secureContextOf } from './secure-context.js';

/** An address that drops packets keeps the next one waiting no longer than this; Node's 250 ms cuts off slow honest ones. */
const NEXT_ADDRESS_AFTER_MS = 1_500;
/** Sessions are not resumed, and servers give two to four tickets for it; 20,000 of them took 0.4 s (measured). */
const MOST_TICKETS = 32;
/** More are not tried: a name may answer with thousands. */
const ADDRESSES_TRIED = 8;

export interface Dialer {
  resolver: Resolver;
  policy: AddressPolicy;
  /** PEM certificates to trust; left out: Node's own. */
  certificateAuthorities?: readonly string[];
  /** All webhooks leave by it: names are then its to resolve, and addresses its to judge. */
  proxy?: EgressProxy;
}

/** A host as `checkUrl` returned it: a literal has passed its address check there. */
export interface DialTarget {
  host: string;
  port: number;
  secure: boolean;
  literal: boolean;
  /** Take whatever certificate the endpoint shows (`insecure_ssl`); left out: it must verify. */
  insecure?: boolean;
}

/** Where an attempt is and how long each phase took; written while it runs, so that a deadline can read it. */
export interface DialProgress {
  phase: WebhookPhase;
  timings: Partial<Omit<AttemptTimings, 'total'>>;
}

export type Dialed =
  | { ok: true; socket: Socket }
  /** `code` and `address` are for the operator's log alone. */
  | { ok: false; kind: 'fault'; reason: NetworkFaultReason; code: string | undefined }
  | {
      ok: false;
      kind: 'forbidden';
      reason: PolicyReason | 'proxy_refused';
      address: string | null;
    };

/**
 * Opens a connection that the policy allows: one look-up, every answer judged and all refused when
 * one is, only judged addresses dialed, and the address at the other end of the socket judged
 * again. Aborting destroys what is open, in every phase.
 */
export async function dial(
  target: DialTarget,
  dialer: Dialer,
  progress: DialProgress,
  signal: AbortSignal,
): Promise<Dialed> {
  const opened = dialer.proxy
    ? await dialByProxy(target, dialer, dialer.proxy, progress, signal)
    : await dialDirectly(target, dialer, progress, signal);
  if (!opened.ok || !target.secure) return opened;
  progress.phase = 'tls';
  const securedIn = stopwatch();
  const verify = target.insecure !== true;
  const secured = await secure(opened.socket, target.host, verify, dialer, signal);
  if (secured.ok) progress.timings.tls = securedIn();
  return secured;
}

async function dialDirectly(
  target: DialTarget,
  dialer: Dialer,
  progress: DialProgress,
  signal: AbortSignal,
): Promise<Dialed> {
  const found = await addressesOf(target, dialer, progress, signal);
  if (!found.ok) return found;
  progress.phase = 'connect';
  const connectedIn = stopwatch();
  const connected = await connectToOne(found.addresses, target, signal);
  if (!connected.ok) return connected;
  progress.timings.connect = connectedIn();
  const { socket } = connected;
  const { remoteAddress } = socket;
  if (remoteAddress === undefined) {
    // It was reset as soon as it was open: there is nobody to judge.
    socket.destroy();
    return fault('connection_reset');
  }
  const reached = checkAnswers([plainAddress(remoteAddress)], dialer.policy, target);
  if (reached.allowed) return connected;
  socket.destroy();
  return { ok: false, kind: 'forbidden', reason: reached.reason, address: reached.address };
}

async function dialByProxy(
  target: DialTarget,
  dialer: Dialer,
  proxy: EgressProxy,
  progress: DialProgress,
  signal: AbortSignal,
): Promise<Dialed> {
  progress.phase = 'connect';
  const connectedIn = stopwatch();
  const { host: address, port } = proxy;
  // What is read from it goes on to TLS, or stops behind the proxy's answer: as a stream does.
  const opened = await connectTo({ address, port, asItComes: false }, undefined, signal);
  const reached =
    opened.ok && proxy.secure
      ? await secure(opened.socket, proxy.host, true, dialer, signal)
      : opened;
  if (!reached.ok) {
    return fault('proxy_failed', reached.kind === 'fault' ? reached.code : undefined);
  }
  const { socket } = reached;
  const abort = () => socket.destroy();
  signal.addEventListener('abort', abort, { once: true });
  const tunnel = await openTunnel(socket, proxy, target);
  signal.removeEventListener('abort', abort);
  progress.timings.connect = connectedIn();
  if (tunnel.kind === 'open') return reached;
  socket.destroy();
  return tunnel.kind === 'refused'
    ? { ok: false, kind: 'forbidden', reason: 'proxy_refused', address: null }
    : fault('proxy_failed', tunnel.code);
}

type Addresses = { ok: true; addresses: string[] } | Extract<Dialed, { ok: false }>;

async function addressesOf(
  target: DialTarget,
  dialer: Dialer,
  progress: DialProgress,
  signal: AbortSignal,
): Promise<Addresses> {
  if (target.literal) return { ok: true, addresses: [target.host] };
  progress.phase = 'dns';
  const resolvedIn = stopwatch();
  const answers = await dialer.resolver.resolve(target.host, signal);
  if (!answers.found) {
    return fault(networkFaultReason(answers.code, 'dns'), answers.code);
  }
  const verdict = checkAnswers(answers.addresses, dialer.policy, target);
  if (!verdict.allowed) {
    return { ok: false, kind: 'forbidden', reason: verdict.reason, address: verdict.address };
  }
  progress.timings.dns = resolvedIn();
  return { ok: true, addresses: alternating(answers.addresses).slice(0, ADDRESSES_TRIED) };
}

/** Families take turns, IPv4 first: a host without an IPv6 route then pays nothing. */
function alternating(addresses: readonly string[]): string[] {
  const v4 = addresses.filter((address) => !isIPv6(address));
  const v6 = addresses.filter((address) => isIPv6(address));
  const order: string[] = [];
  for (let index = 0; index < Math.max(v4.length, v6.length); index += 1) {
    order.push(...v4.slice(index, index + 1), ...v6.slice(index, index + 1));
  }
  return order;
}

async function connectToOne(
  addresses: readonly string[],
  { port, secure }: DialTarget,
  signal: AbortSignal,
): Promise<Dialed> {
  let last: Dialed = fault('connection_failed');
  for (const [index, address] of addresses.entries()) {
    const isLast = index === addresses.length - 1;
    last = await connectTo(
      { address, port, asItComes: !secure },
      isLast ? undefined : NEXT_ADDRESS_AFTER_MS,
      signal,
    );
    if (last.ok || signal.aborted) return last;
  }
  return last;
}

function connectTo(
  place: Place,
  timeoutMs: number | undefined,
  signal: AbortSignal,
): Promise<Dialed> {
  const socket = openSocket(place);
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => socket.destroy(codedError('ETIMEDOUT')), timeoutMs);
  return ready(socket, 'connect', 'connect', signal).finally(() => clearTimeout(timer));
}

function secure(
  socket: Socket,
  host: string,
  verify: boolean,
  dialer: Dialer,
  signal: AbortSignal,
): Promise<Dialed> {
  const secured = connectTls({
    socket,
    // The name that was asked for, not the address: it is what SNI and the certificate speak of.
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: verify,
    secureContext: secureContextOf(dialer),
  });
  let tickets = 0;
  secured.on('session', () => {
    tickets += 1;
    if (tickets > MOST_TICKETS) secured.destroy(codedError('ERR_SSL_TOO_MANY_TICKETS'));
  });
  return ready(secured, 'secureConnect', 'tls', signal).then((result) => {
    if (!result.ok) socket.destroy();
    return result;
  });
}

function ready(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  phase: WebhookPhase,
  signal: AbortSignal,
): Promise<Dialed> {
  return new Promise((resolve) => {
    const abort = () => socket.destroy(codedError('ECONNABORTED'));
    const finish = (result: Dialed) => {
      signal.removeEventListener('abort', abort);
      socket.off('close', onClose);
      resolve(result);
    };
    let code: string | undefined;
    const onClose = () => finish(fault(networkFaultReason(code, phase), code));
    // Stays attached: a socket that fails later must not crash the process.
    socket.on('error', (error) => {
      code = codeOf(error);
    });
    socket.once('close', onClose);
    socket.once(event, () => finish({ ok: true, socket }));
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
  });
}

function fault(reason: NetworkFaultReason, code?: string): Extract<Dialed, { kind: 'fault' }> {
  return { ok: false, kind: 'fault', reason, code };
}

/** `::ffff:192.0.2.1` is IPv4 to the one who dialed it. */
function plainAddress(address: string): string {
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/iu.test(address) ? address.slice('::ffff:'.length) : address;
}

function stopwatch(): () => number {
  const startedAt = performance.now();
  return () => Math.round(performance.now() - startedAt);
}

function codedError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/** The code of an error, where it has one. */
export function codeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : undefined;
}
