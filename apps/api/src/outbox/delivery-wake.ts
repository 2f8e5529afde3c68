import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

const WAKE_TIMEOUT_MS = 2000;

/**
 * Wakes a delivery container that sleeps: a POST after jobs were enqueued. Best effort, as the
 * committed NOTIFY reaches whoever is awake; coalesced, so a fan-out of many pages has one call under
 * way and at most one more behind it. node:http, as `fetch` costs several MB.
 */
export class DeliveryWake {
  readonly #url: URL | undefined;
  readonly #onProblem: (error: Error) => void;
  #underway: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  constructor(url: string | null, onProblem: (error: Error) => void) {
    this.#url = url === null ? undefined : new URL(url);
    this.#onProblem = onProblem;
  }

  /** Returns at once. */
  wake(): void {
    if (this.#url === undefined || this.#stopped) return;
    if (this.#underway) {
      this.#again = true;
      return;
    }
    this.#underway = post(this.#url)
      .catch(this.#onProblem)
      .finally(() => {
        this.#underway = undefined;
        if (!this.#again) return;
        this.#again = false;
        this.wake();
      });
  }

  /** No call starts any more; the one under way ends within its timeout. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#underway;
  }
}

function post(url: URL): Promise<void> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method: 'POST',
      headers: { 'content-length': '0' },
      agent: false,
      signal: AbortSignal.timeout(WAKE_TIMEOUT_MS),
    });
    sent.on('response', (response) => {
      response.resume();
      response.on('end', resolve);
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}
