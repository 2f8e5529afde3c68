import type { Client } from 'undici';

/** Loads the HTTP client at the first send: idle processes do without it. Once: looking a module up at each dial was 5 % of the CPU. */
export function createClientLoader(): () => Promise<typeof Client> {
  let loaded: Promise<typeof Client> | undefined;
  return () => (loaded ??= import('undici').then((undici) => undici.Client));
}
