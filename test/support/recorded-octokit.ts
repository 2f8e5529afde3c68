import { Octokit } from '@octokit/rest';
import { expect } from 'vitest';

import type { Exchange } from './github-schema.js';

export interface RecordedOctokit {
  /** All that was asked and answered so far. */
  exchanges: Exchange[];
  /** An Octokit that knows nothing of Ghost but its address; without a token, for nobody. */
  octokit(token?: string): Octokit;
}

/** @param base - of the API, `http://…/api` */
export function recordOctokit(base: string): RecordedOctokit {
  const exchanges: Exchange[] = [];
  const record: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    exchanges.push({
      method: init?.method ?? 'GET',
      path: new URL(response.url).pathname.slice(new URL(base).pathname.length),
      status: response.status,
      contentType: response.headers.get('content-type'),
      text: await response.clone().text(),
    });
    return response;
  };
  const silent = () => undefined;
  return {
    exchanges,
    octokit: (token) =>
      new Octokit({
        baseUrl: base,
        ...(token === undefined ? {} : { auth: token }),
        request: { fetch: record },
        log: { debug: silent, info: silent, warn: silent, error: silent },
      }),
  };
}

/** The error that Octokit threw: its status and the body that it read. */
export async function refusalOf(
  asked: Promise<unknown>,
): Promise<{ status: number; body: unknown }> {
  try {
    await asked;
  } catch (error) {
    // By its name: two copies of Octokit's package would have two classes.
    expect(error).toMatchObject({ name: 'HttpError', status: expect.any(Number) });
    const { status, response } = error as { status: number; response?: { data: unknown } };
    return { status, body: response?.data };
  }
  throw new Error('Nothing was refused');
}
