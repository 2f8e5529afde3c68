import { type Agent, request } from 'node:http';

export interface TimedRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  url: string;
  /** Keeps the connection: making one takes longer than an answer. */
  agent: Agent;
  /** None: nobody asks. */
  token?: string | undefined;
  /** JSON, as text. */
  body?: string | undefined;
  /** Any other answer is a failure. */
  status: number;
}

/** Asks, and returns the milliseconds to the end of the answer. */
export function timedRequest(asked: TimedRequest): Promise<number> {
  const { method, url, agent, token, body, status } = asked;
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
  };
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent, headers });
    sent.on('error', reject);
    sent.on('response', (response) => {
      response.resume();
      response.on('end', () => {
        if (response.statusCode === status) resolve(performance.now() - startedAt);
        else reject(new Error(`${method} ${url} was answered ${response.statusCode}`));
      });
    });
    sent.end(body);
  });
}
