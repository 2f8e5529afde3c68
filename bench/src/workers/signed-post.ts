import { randomBytes } from 'node:crypto';

import { signWebhook } from '@ghost/signing';
import { request } from 'undici';

import { type BenchJob, EVENT, SECRET } from '../load.js';

/** The request that ours sends, by undici's `request`, as one would write it in a task of a peer. */
export async function signedPost({ id, hook, url, body }: BenchJob): Promise<void> {
  const bytes = Buffer.from(body);
  const answer = await request(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'user-agent': 'Ghost-Delivery/0.1.0',
      accept: '*/*',
      'accept-encoding': 'identity',
      'x-ghost-event': EVENT,
      'x-ghost-delivery': id,
      'x-ghost-hook-id': String(hook),
      'x-ghost-attempt': '1',
      traceparent: `00-${id.replaceAll('-', '')}-${randomBytes(8).toString('hex')}-01`,
      ...signWebhook({
        id,
        timestamp: Math.floor(Date.now() / 1000),
        body: bytes,
        secrets: [SECRET],
      }),
    },
    body: bytes,
  });
  await answer.body.dump();
  if (answer.statusCode >= 300) throw new Error(`answered ${answer.statusCode}`);
}
