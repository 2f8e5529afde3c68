export interface HttpRequest {
  /** Host and port as the URL has them. */
  host: string;
  /** Path and query. */
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

/** A line break would be another header, NUL ends text elsewhere, and the rest has no byte in Latin-1. */
const UNSENDABLE = /[\0\r\n\u0100-\uffff]/u;

/**
 * A POST as it goes over the wire (RFC 9112), head and body in one piece: two writes cost a packet and a system
 * call more. Throws for what cannot be in a head, which is judged where it is saved.
 */
export function requestBytes({ host, path, headers, body }: HttpRequest): Buffer {
  let head = '';
  for (const name in headers) head += line(name, headers[name] ?? '');
  const text = `POST ${path} HTTP/1.1\r\n${line('host', host)}${head}content-length: ${body.length}\r\n\r\n`;
  const bytes = Buffer.allocUnsafe(text.length + body.length);
  bytes.write(text, 0, 'latin1');
  body.copy(bytes, text.length);
  return bytes;
}

function line(name: string, value: string): string {
  if (UNSENDABLE.test(value) || UNSENDABLE.test(name)) {
    throw new TypeError(`The value of header ${JSON.stringify(name)} cannot be sent`);
  }
  return `${name}: ${value}\r\n`;
}
