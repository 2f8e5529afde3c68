import {
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  timingSafeEqual,
} from 'node:crypto';

import type { KeyRing } from './key-ring.js';

const KEY_BYTES = 32;
/** 128 bits of HMAC-SHA256: RFC 2104 asks for half of the hash at least. */
export const MAC_BYTES = 16;

/**
 * Short MACs for tokens, by keys that are derived from those of a ring once. New ones are made with the active key;
 * old ones are known while their key is in the ring.
 */
export class KeyedMac {
  readonly #active: KeyObject;
  readonly #all: readonly KeyObject[];

  /** @param purpose - keeps this use of the key ring apart from every other (RFC 5869, "info") */
  constructor(ring: KeyRing, purpose: string) {
    const derived = new Map([...ring.keys].map(([id, key]) => [id, derive(key, purpose)]));
    const active = derived.get(ring.activeId);
    if (active === undefined) throw new Error(`The key ring lacks its active key ${ring.activeId}`);
    this.#active = active;
    this.#all = [...derived.values()];
  }

  make(claim: Buffer): Buffer {
    return mac(this.#active, claim);
  }

  /** Whether some key of the ring made it; in constant time for each. */
  made(given: Buffer, claim: Buffer): boolean {
    return (
      given.length === MAC_BYTES && this.#all.some((key) => timingSafeEqual(mac(key, claim), given))
    );
  }
}

function derive(key: KeyObject, purpose: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', purpose, KEY_BYTES)));
}

function mac(key: KeyObject, claim: Buffer): Buffer {
  return createHmac('sha256', key).update(claim).digest().subarray(0, MAC_BYTES);
}
