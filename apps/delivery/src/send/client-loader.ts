import type { Client } from 'undici';

/**
 * Loads the HTTP client at the first send: idle processes do without it. Once: looking a module up at
 * each dial was 5 % of the CPU.
 * @param loaded - what loads a part of the program goes through it
 */
export function createClientLoader(
  loaded: <T>(work: Promise<T>) => Promise<T>,
): () => Promise<typeof Client> {
  let client: Promise<typeof Client> | undefined;
  // Its default: in the bundle a CommonJS library has no other export.
  return () => (client ??= loaded(import('undici').then((undici) => undici.default.Client)));
}
