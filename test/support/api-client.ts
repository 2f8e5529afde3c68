import { Agent, request } from 'node:http';

export interface ApiAnswer {
  status: number;
  body: unknown;
}

export interface ApiClient {
  /** Rejects when no answer came. */
  send(method: string, path: string, body?: unknown): Promise<ApiAnswer>;
  /** The answer's body; rejects with the whole answer when the status is another. */
  expect<T = unknown>(status: number, method: string, path: string, body?: unknown): Promise<T>;
}

const ANSWER_WITHIN_MS = 20_000;

/** A client of the API under `base` + `/api` for one token; connections are kept. */
export function apiClient(base: string, token: string): ApiClient {
  const agent = new Agent({ keepAlive: true });
  const send: ApiClient['send'] = (method, path, body) =>
    new Promise((resolve, reject) => {
      const payload = body === undefined ? undefined : JSON.stringify(body);
      const sent = request(
        `${base}/api${path}`,
        {
          method,
          agent,
          timeout: ANSWER_WITHIN_MS,
          headers: {
            authorization: `Bearer ${token}`,
            // Node gives a DELETE no length by itself.
            ...(payload === undefined
              ? {}
              : {
                  'content-type': 'application/json',
                  'content-length': Buffer.byteLength(payload),
                }),
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            resolve({
              status: response.statusCode ?? 0,
              body: text === '' ? undefined : JSON.parse(text),
            });
          });
        },
      );
      sent.on('timeout', () => sent.destroy(new Error(`No answer to ${method} ${path}`)));
      sent.on('error', reject);
      sent.end(payload);
    });
  return {
    send,
    async expect<T>(status: number, method: string, path: string, body?: unknown): Promise<T> {
      const answer = await send(method, path, body);
      if (answer.status !== status) {
        throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
      }
      return answer.body as T;
    },
  };
}
