import type { ApiClient } from './api-client.js';

export interface ParallelComments {
  /** How long each answer took, in milliseconds, in no order. */
  tookMs: number[];
  /** The numbers that the answers gave, sorted. */
  numbers: number[];
  /** The numbers that the list of the thread holds afterwards, in its order. */
  listed: number[];
  /** Texts that were answered 201 and that the list lacks. */
  lost: string[];
}

/**
 * Has accounts post to one thread at once, each `each` comments one after the other or, with `burst`, all at
 * once, and reads the thread afterwards.
 * @param thread - its path below `/api`
 */
export async function postInParallel(
  clients: readonly ApiClient[],
  thread: string,
  each: number,
  burst = false,
): Promise<ParallelComments> {
  const tookMs: number[] = [];
  const answered = new Map<string, number>();
  const post = async (client: ApiClient, text: string) => {
    const startedAt = performance.now();
    const { number } = await client.expect<{ number: number }>(201, 'POST', `${thread}/comments`, {
      body: text,
    });
    tookMs.push(performance.now() - startedAt);
    answered.set(text, number);
  };
  await Promise.all(
    clients.map(async (client, who) => {
      const texts = Array.from({ length: each }, (_, n) => `Comment ${n} of ${who}`);
      if (burst) await Promise.all(texts.map((text) => post(client, text)));
      else for (const text of texts) await post(client, text);
    }),
  );
  const reader = clients[0];
  const stored = reader === undefined ? [] : await readThread(reader, thread);
  const texts = new Map(stored.map(({ body, number }) => [body, number]));
  return {
    tookMs,
    numbers: [...answered.values()].sort((a, b) => a - b),
    listed: stored.map(({ number }) => number),
    lost: [...answered]
      .filter(([text, number]) => texts.get(text) !== number)
      .map(([text]) => text),
  };
}

interface Stored {
  id: number;
  number: number;
  body: string;
}

/** All comments of a thread, page by page. */
async function readThread(client: ApiClient, thread: string): Promise<Stored[]> {
  const all: Stored[] = [];
  for (let last = 0; ; ) {
    // The cursor as `Link` gives it; this client keeps no headers.
    const after =
      last === 0 ? '' : `&after=${Buffer.from(`comments:${last}`).toString('base64url')}`;
    const page = await client.expect<Stored[]>(
      200,
      'GET',
      `${thread}/comments?per_page=100${after}`,
    );
    all.push(...page);
    if (page.length < 100) return all;
    last = page.at(-1)?.number ?? 0;
  }
}
