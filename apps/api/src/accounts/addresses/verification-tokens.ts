import type { Settings } from '@ghost/settings';
import { Inject, Injectable } from '@nestjs/common';

import { SETTINGS } from '../../database/tokens.js';
import { SignedIds } from '../../mail-links/signed-ids.js';

const PURPOSE = 'ghost address verification token v1';
const SECOND_MS = 1000;

/** Which row of an address a link verifies, and until when. */
export interface VerificationClaim {
  addressId: number;
  /** Kept in whole seconds. */
  expiresAt: Date;
}

/** Signs and reads the tokens of verification links. A token is good for one row, as rows keep their address. */
@Injectable()
export class VerificationTokens {
  private readonly signed: SignedIds;

  constructor(@Inject(SETTINGS) { keyRing }: Pick<Settings, 'keyRing'>) {
    this.signed = new SignedIds(keyRing, PURPOSE);
  }

  sign({ addressId, expiresAt }: VerificationClaim): string {
    return this.signed.sign([addressId, Math.floor(expiresAt.getTime() / SECOND_MS)]);
  }

  /** Null for whatever no key of the ring signed; a claim past its end is told, so that the page can say so. */
  verify(text: string, now: Date): (VerificationClaim & { expired: boolean }) | null {
    const [addressId, seconds, ...more] = this.signed.verify(text) ?? [];
    if (addressId === undefined || seconds === undefined || more.length > 0) return null;
    const expiresAt = new Date(seconds * SECOND_MS);
    return { addressId, expiresAt, expired: expiresAt <= now };
  }
}
