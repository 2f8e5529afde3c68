const ANSWER_WITHIN_MS = 30_000;
const SHOWN_CHARACTERS = 500;

/** An answer of the API that was not what the playground asked for. */
export class ApiAnswerError extends Error {
  override readonly name = 'ApiAnswerError';
  readonly status: number;

  constructor(what: string, status: number, body: string) {
    super(`${what} was answered ${status}: ${body.slice(0, SHOWN_CHARACTERS)}`);
    this.status = status;
  }
}

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** The API over HTTP, as any client uses it. */
export interface ApiClient {
  /**
   * @param path below `/api`
   * @returns the parsed JSON; undefined for an empty answer
   * @throws ApiAnswerError for anything but 2xx
   */
  call(method: Method, path: string, token: string, body?: object): Promise<unknown>;
}

export function createApiClient(baseUrl: string, signal: AbortSignal): ApiClient {
  return {
    async call(method, path, token, body) {
      const response = await fetch(`${baseUrl}/api${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]),
      });
      const text = await response.text();
      if (!response.ok) throw new ApiAnswerError(`${method} ${path}`, response.status, text);
      return text === '' ? undefined : (JSON.parse(text) as unknown);
    },
  };
}
