import {
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  timingSafeEqual,
} from 'node:crypto';
import type { Settings } from '@ghost/settings';
import { Inject, Injectable } from '@nestjs/common';

import { SETTINGS } from '../database/tokens.js';

/** Keeps this use of the key ring apart from every other (RFC 5869, "info"). */
const KEY_PURPOSE = 'ghost unsubscribe token v1';
const KEY_BYTES = 32;
/** 128 bits of HMAC-SHA256: RFC 2104 asks for half of the hash at least. */
const MAC_BYTES = 16;

/** Whose mails of which thread a link ends. It holds no address. */
export interface UnsubscribeClaim {
  threadId: number;
  accountId: number;
}

/**
 * Signs and reads the tokens of unsubscribe links: both ids and a MAC in base64url, some 28 characters,
 * as one is stored for each reader of each event. New ones are signed with the active key of the ring;
 * links in old mails work while their key is in it.
 */
@Injectable()
export class UnsubscribeTokens {
  private readonly active: KeyObject;
  private readonly all: readonly KeyObject[];

  constructor(@Inject(SETTINGS) { keyRing }: Pick<Settings, 'keyRing'>) {
    const derived = new Map([...keyRing.keys].map(([id, key]) => [id, derive(key)]));
    const active = derived.get(keyRing.activeId);
    if (active === undefined)
      throw new Error(`The key ring lacks its active key ${keyRing.activeId}`);
    this.active = active;
    this.all = [...derived.values()];
  }

  sign({ threadId, accountId }: UnsubscribeClaim): string {
    const claim = Buffer.from([...packId(threadId), ...packId(accountId)]);
    return Buffer.concat([claim, mac(this.active, claim)]).toString('base64url');
  }

  /** Null for whatever no key of the ring signed. */
  verify(text: string): UnsubscribeClaim | null {
    const token = Buffer.from(text, 'base64url');
    // One claim has one token: a decoder that is lenient must not make it several.
    if (token.length <= MAC_BYTES || token.toString('base64url') !== text) return null;
    const claim = token.subarray(0, -MAC_BYTES);
    const given = token.subarray(-MAC_BYTES);
    if (!this.all.some((key) => timingSafeEqual(mac(key, claim), given))) return null;
    const [threadId, accountId, ...more] = unpackIds(claim);
    if (threadId === undefined || accountId === undefined || more.length > 0) return null;
    return { threadId, accountId };
  }
}

function derive(key: KeyObject): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', KEY_PURPOSE, KEY_BYTES)));
}

function mac(key: KeyObject, claim: Buffer): Buffer {
  return createHmac('sha256', key).update(claim).digest().subarray(0, MAC_BYTES);
}

/** Seven bits a byte, the lowest first; the high bit says that more follow (LEB128). */
function packId(id: number): number[] {
  const bytes: number[] = [];
  let rest = id;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return bytes;
}

function unpackIds(bytes: Buffer): number[] {
  const ids: number[] = [];
  let id = 0;
  let place = 1;
  for (const byte of bytes) {
    id += (byte & 0x7f) * place;
    place *= 0x80;
    if (byte > 0x7f) continue;
    ids.push(id);
    id = 0;
    place = 1;
  }
  return ids;
}
