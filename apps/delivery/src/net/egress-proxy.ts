import { isIPv6, type Socket } from 'node:net';

/** A proxy's answer to CONNECT is a line or two. */
const MAX_ANSWER_BYTES = 8 * 1024;
const HEAD_END = '\r\n\r\n';
const CHALLENGE = /\r\nproxy-authenticate[\t ]*:/iu;

/** A forward proxy that all webhooks leave by; it resolves names and refuses inner addresses itself. */
export interface EgressProxy {
  host: string;
  port: number;
  /** TLS to the proxy itself. */
  secure: boolean;
  user: string | null;
  pass: string | null;
}

export type Tunnelled =
  | { kind: 'open' }
  | { kind: 'refused' }
  /** `code`: what the proxy did instead, for the operator's log. */
  | { kind: 'failed'; code: string };

/**
 * Asks a connected proxy for a tunnel (CONNECT, RFC 9110 §9.3.6). `refused`: the proxy forbids this
 * destination, with a page that says so or without. The socket's end settles it as failed; who aborts
 * destroys the socket.
 */
export function openTunnel(
  socket: Socket,
  proxy: EgressProxy,
  target: { host: string; port: number },
): Promise<Tunnelled> {
  return new Promise((resolve) => {
    let answer = '';
    const finish = (result: Tunnelled) => {
      socket.off('data', onData);
      socket.off('close', onClose);
      resolve(result);
    };
    const onClose = () => finish(failed('PROXY_CLOSED'));
    const onData = (chunk: Buffer) => {
      answer += chunk.toString('latin1');
      const end = answer.indexOf(HEAD_END);
      if (end < 0 && answer.length <= MAX_ANSWER_BYTES) return;
      socket.pause();
      finish(verdictOf(answer, end));
    };
    socket.on('data', onData);
    socket.once('close', onClose);
    socket.write(connectRequest(proxy, target));
  });
}

function connectRequest(proxy: EgressProxy, { host, port }: { host: string; port: number }) {
  const authority = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const lines = [`CONNECT ${authority} HTTP/1.1`, `host: ${authority}`];
  if (proxy.user !== null && proxy.pass !== null) {
    const credentials = Buffer.from(`${proxy.user}:${proxy.pass}`).toString('base64');
    lines.push(`proxy-authorization: Basic ${credentials}`);
  }
  return `${lines.join('\r\n')}${HEAD_END}`;
}

/** @param end - of its head; below 0: not within the bound */
function verdictOf(answer: string, end: number): Tunnelled {
  const status = /^HTTP\/1\.[01] (\d{3})(?=[ \r])/u.exec(answer)?.[1];
  if (end < 0 || status === undefined) return failed('PROXY_ANSWER_MALFORMED');
  if (status.startsWith('2')) {
    // Bytes behind it would be an answer to a request that was not made yet.
    const clean = end === answer.length - HEAD_END.length;
    return clean ? { kind: 'open' } : failed('PROXY_SPOKE_FIRST');
  }
  // From a proxy that judges addresses these are what a refused address is without one; smokescreen says 407, and asks
  // for nothing by it (RFC 9110 §15.5.8: who wants credentials does).
  const forbids = status === '403' || (status === '407' && !CHALLENGE.test(answer.slice(0, end)));
  return forbids ? { kind: 'refused' } : failed(`PROXY_ANSWERED_${status}`);
}

function failed(code: string): Tunnelled {
  return { kind: 'failed', code };
}
