import { isIPv6, type Socket } from 'node:net';

/** A proxy's answer to CONNECT is a line or two. */
const MAX_ANSWER_BYTES = 8 * 1024;
const HEAD_END = '\r\n\r\n';

/** A forward proxy that all webhooks leave by; it resolves names and refuses inner addresses itself. */
export interface EgressProxy {
  host: string;
  port: number;
  /** TLS to the proxy itself. */
  secure: boolean;
  user: string | null;
  pass: string | null;
}

export type Tunnelled = 'open' | 'refused' | 'failed';

/**
 * Asks a connected proxy for a tunnel (CONNECT, RFC 9110 §9.3.6). `refused`: the proxy forbids this
 * destination. The socket's end settles it as failed; who aborts destroys the socket.
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
    const onClose = () => finish('failed');
    const onData = (chunk: Buffer) => {
      answer += chunk.toString('latin1');
      const end = answer.indexOf(HEAD_END);
      if (end < 0 && answer.length <= MAX_ANSWER_BYTES) return;
      socket.pause();
      // Bytes behind the head would be an answer to a request that was not made yet.
      const clean = end === answer.length - HEAD_END.length;
      finish(clean ? verdictOf(answer) : 'failed');
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

function verdictOf(answer: string): Tunnelled {
  const status = Number(/^HTTP\/1\.[01] (\d{3})/u.exec(answer)?.[1]);
  if (status >= 200 && status < 300) return 'open';
  // 403 from a proxy that judges addresses is what a refused address is without one.
  return status === 403 ? 'refused' : 'failed';
}
