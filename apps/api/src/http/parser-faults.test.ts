import { once } from 'node:events';
import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { keptLog } from '../../../../test/support/kept-log.js';
import { type Person, startTestApi, type TestApi } from '../../../../test/support/test-api.js';

let api: TestApi;
let ada: Person;
const { logger, lines } = keptLog();

beforeAll(async () => {
  api = await startTestApi({ logger });
  ada = await api.addPerson('ada');
  await ada.ask('POST', '/user/repos', { name: 'engine' });
});
afterAll(() => api.stop());

/** Sends bytes, and returns all that came back once the other side closed. */
async function exchange(...parts: (string | Buffer)[]): Promise<string> {
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += String(chunk);
  });
  // Refused while it was still writing.
  socket.on('error', () => undefined);
  for (const part of parts) socket.write(part);
  await once(socket, 'close');
  return text;
}

const post = (headers: string) =>
  `POST /api/user/repos HTTP/1.1\r\nhost: ghost\r\nauthorization: Bearer ${ada.token}\r\n${headers}\r\n`;

describe('bytes that are no request are answered in the shape of every error, and the connection ends', () => {
  test.each([
    ['nonsense', 'nonsense\r\n\r\n', 400, 'bad_request'],
    ['version 3', 'GET / HTTP/3.0\r\nhost: a\r\n\r\n', 400, 'bad_request'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', 400, 'missing_host'],
    ['TLS', Buffer.from('1603010200010001fc0303', 'hex'), 400, 'bad_request'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'bad_request'],
    ['a header without a name', 'GET / HTTP/1.1\r\n: a\r\n\r\n', 400, 'bad_request'],
    ['NUL in a header', 'GET / HTTP/1.1\r\nhost: a\r\nx: \0\r\n\r\n', 400, 'bad_request'],
    [
      'a content-length that is no number',
      'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n',
      400,
      'bad_request',
    ],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
      400,
      'bad_request',
    ],
    [
      'a length beside chunks',
      'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
      400,
      'bad_request',
    ],
    [
      'a coding beside chunks',
      `POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
      400,
      'bad_transfer_encoding',
    ],
    [
      'chunks twice',
      `POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
      'bad_request',
    ],
    [
      'another coding than chunks',
      `POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n`,
      400,
      'bad_transfer_encoding',
    ],
    [
      'chunks in HTTP/1.0',
      `POST / HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
      'bad_transfer_encoding',
    ],
    [
      'a path that cannot be decoded',
      'GET /api/repos/%/x HTTP/1.1\r\nhost: a\r\n\r\n',
      400,
      'bad_path',
    ],
    ['a URL with a bad host', 'GET http://[/api/user HTTP/1.1\r\nhost: a\r\n\r\n', 400, 'bad_host'],
    [
      'a URL with a bad port',
      'GET http://a:99999999/api/user HTTP/1.1\r\nhost: a\r\n\r\n',
      400,
      'bad_host',
    ],
    ['a URL without a host', 'GET http:///api/user HTTP/1.1\r\nhost: a\r\n\r\n', 400, 'bad_host'],
    ['a tunnel', 'CONNECT a.example:443 HTTP/1.1\r\nhost: a\r\n\r\n', 405, 'method_not_allowed'],
    [
      'a long path',
      `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nhost: a\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    [
      'large headers',
      `GET / HTTP/1.1\r\nhost: a\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
  ])('%s', async (_name, bytes, status, code) => {
    const text = await exchange(bytes);
    const [head = '', body = ''] = text.split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `, 'u'));
    expect(head).toMatch(/connection: close/iu);
    expect(head).toMatch(/^x-frame-options: DENY/imu);
    expect(JSON.parse(body)).toEqual({ message: expect.stringMatching(/\.$/u), code });
    expect(text).not.toMatch(/HPE_|Parse Error|node|at \//u);
  });

  test('a 405 to CONNECT says what is possible', async () => {
    const text = await exchange('CONNECT a.example:443 HTTP/1.1\r\nhost: a\r\n\r\n');
    expect(text).toMatch(/^allow: GET, HEAD, POST/imu);
  });

  test('what comes behind a request that may end elsewhere is not served', async () => {
    const body = '{"name":"smuggled"}';
    const behind = `${post(`content-type: application/json\r\ncontent-length: ${body.length}\r\n`)}${body}`;
    const text = await exchange(
      `${post('content-type: application/json\r\ntransfer-encoding: gzip, chunked\r\n')}0\r\n\r\n${behind}`,
    );
    expect(text.match(/HTTP\/1\.1 \d+/gu)).toEqual(['HTTP/1.1 400']);
    expect((await ada.ask('GET', '/repos/ada/smuggled')).status).toBe(404);
  });

  test('an expectation that is not known is a 417', async () => {
    const text = await exchange('GET / HTTP/1.1\r\nhost: a\r\nexpect: tea\r\n\r\n');
    expect(text).toMatch(/^HTTP\/1\.1 417 .*"code":"expectation_failed"/su);
    const metrics = await (await fetch(`${api.url}/metrics`)).text();
    expect(metrics).toMatch(/ghost_api_refused_total\{status="417"\} 1/u);
  });

  test('they are counted, and at the usual level not logged', async () => {
    const before = lines.length;
    await exchange('nonsense\r\n\r\n');
    expect(lines.slice(before)).toEqual([]);
    const metrics = await (await fetch(`${api.url}/metrics`)).text();
    expect(metrics).toMatch(/ghost_api_refused_total\{status="400"\} \d/u);
    expect(metrics).toMatch(/ghost_api_refused_total\{status="431"\} \d/u);
  });
});

describe('bodies that come in chunks', () => {
  const chunked = () => post('content-type: application/json\r\ntransfer-encoding: chunked\r\n');

  test('more than 1 MiB is a 413 that says how much is taken', async () => {
    const chunk = Buffer.alloc(65_536, 'a');
    const parts = Array.from({ length: 17 }, () => [`10000\r\n`, chunk, '\r\n']).flat();
    const text = await exchange(chunked(), ...parts);
    expect(text).toMatch(/^HTTP\/1\.1 413 .*larger than 1048576 bytes/su);
  });

  test('a chunk without a size is a 400', async () => {
    const text = await exchange(chunked(), '5\r\n{"nam\r\n', 'zz\r\n');
    expect(text).toMatch(/^HTTP\/1\.1 400 .*"code":"bad_request"/su);
  });

  test('a client that goes away in the middle harms nobody', async () => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
    socket.write(`${chunked()}5\r\n{"nam`);
    await once(socket, 'connect');
    socket.resetAndDestroy();
    expect((await ada.ask('GET', '/user')).status).toBe(200);
    expect(lines.join('')).not.toContain('api.failed');
  });
});
