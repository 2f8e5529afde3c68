import { request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { type ReceiverHandler, startReceiver } from './webhook-receiver.js';

async function start(handler?: ReceiverHandler) {
  const receiver = await startReceiver(handler);
  onTestFinished(() => receiver.stop());
  return receiver;
}

function post(url: string, body: Buffer, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; body: string; location: string | undefined }>(
    (resolve, reject) => {
      const sent = request(url, { method: 'POST', headers }, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
        response.on('end', () => {
          const { location } = response.headers;
          resolve({ status: response.statusCode ?? 0, body: text, location });
        });
      });
      sent.on('error', reject);
      sent.end(body);
    },
  );
}

test('records the bytes, the headers and the path of each request, and answers 200', async () => {
  const receiver = await start();
  const bytes = Buffer.from([0xff, 0x00, 0xf0, 0x9f, 0x91, 0xbb]);
  const answer = await post(`${receiver.url}hook?a=1`, bytes, { 'x-ghost-event': 'ping' });
  expect(answer.status).toBe(200);
  const [received] = await receiver.waitForRequests(1);
  expect(received).toMatchObject({ method: 'POST', url: '/hook?a=1' });
  expect(received?.body).toEqual(bytes);
  expect(received?.headers['x-ghost-event']).toBe('ping');
});

test('answers as told, request by request', async () => {
  const receiver = await start(({ url }) =>
    url === '/moved' ? { status: 302, headers: { location: '/x' }, body: 'there' } : 503,
  );
  const moved = await post(`${receiver.url}moved`, Buffer.alloc(0));
  expect(moved).toEqual({ status: 302, body: 'there', location: '/x' });
  expect((await post(receiver.url, Buffer.alloc(0))).status).toBe(503);
  receiver.setHandler((_request, response) => {
    response.writeHead(418).end('own');
  });
  expect(await post(receiver.url, Buffer.alloc(0))).toMatchObject({ status: 418, body: 'own' });
});

test('resets, hangs, and stops in spite of a request that hangs', async () => {
  const receiver = await startReceiver(() => 'reset');
  await expect(post(receiver.url, Buffer.from('x'))).rejects.toMatchObject({ code: 'ECONNRESET' });
  receiver.setHandler(() => 'hang');
  const hanging = post(receiver.url, Buffer.from('x')).catch((error: unknown) => error);
  await receiver.waitForRequests(2);
  await receiver.stop();
  expect(await hanging).toMatchObject({ code: 'ECONNRESET' });
});

test('says how many came when more are waited for', async () => {
  const receiver = await start();
  await post(receiver.url, Buffer.alloc(0));
  await expect(receiver.waitForRequests(2, 10)).rejects.toThrow('2 requests (1 came)');
});
