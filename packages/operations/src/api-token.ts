import { createHash, randomInt } from 'node:crypto';

/** Says what the string is: secret scanners and people know it at sight. */
export const TOKEN_PREFIX = 'ghs_';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
// 40 of 62 characters are 238 bits: past guessing, so that a plain hash is enough to keep.
const RANDOM_CHARACTERS = 40;

/** Makes an API token: `ghs_` and 40 base62 characters from the system's random source. */
export function createToken(): string {
  let token = TOKEN_PREFIX;
  for (let made = 0; made < RANDOM_CHARACTERS; made += 1) token += BASE62[randomInt(BASE62.length)];
  return token;
}

/** What is stored of a token: the SHA-256 of all its characters, prefix included (32 bytes). */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest();
}
