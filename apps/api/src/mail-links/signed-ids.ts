import type { Settings } from '@ghost/settings';
import { KeyedMac, MAC_BYTES } from '@ghost/vault';

/**
 * Signs and reads tokens, as in the links of mails: some numbers and a MAC in base64url. New ones are
 * signed with the active key of the ring; links in old mails work while their key is in it.
 */
export class SignedIds {
  private readonly mac: KeyedMac;

  /** @param purpose - keeps this use of the key ring apart from every other */
  constructor(keyRing: Settings['keyRing'], purpose: string) {
    this.mac = new KeyedMac(keyRing, purpose);
  }

  /** @param ids - whole numbers of 0 or more */
  sign(ids: readonly number[]): string {
    const claim = Buffer.from(ids.flatMap(packId));
    return Buffer.concat([claim, this.mac.make(claim)]).toString('base64url');
  }

  /** Null for whatever no key of the ring signed for this purpose. */
  verify(text: string): number[] | null {
    const token = Buffer.from(text, 'base64url');
    // One claim has one token: a decoder that is lenient must not make it several.
    if (token.length <= MAC_BYTES || token.toString('base64url') !== text) return null;
    const claim = token.subarray(0, -MAC_BYTES);
    const given = token.subarray(-MAC_BYTES);
    return this.mac.made(given, claim) ? unpackIds(claim) : null;
  }
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
