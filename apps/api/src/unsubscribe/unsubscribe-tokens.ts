import type { Settings } from '@ghost/settings';
import { Inject, Injectable } from '@nestjs/common';

import { SETTINGS } from '../database/tokens.js';
import { SignedIds } from '../mail-links/signed-ids.js';

const PURPOSE = 'ghost unsubscribe token v1';

/** Whose mails of which thread a link ends. It holds no address. */
export interface UnsubscribeClaim {
  threadId: number;
  accountId: number;
}

/**
 * Signs and reads the tokens of unsubscribe links: both ids and a MAC, some 28 characters, as one is
 * stored for each reader of each event.
 */
@Injectable()
export class UnsubscribeTokens {
  private readonly signed: SignedIds;

  constructor(@Inject(SETTINGS) { keyRing }: Pick<Settings, 'keyRing'>) {
    this.signed = new SignedIds(keyRing, PURPOSE);
  }

  sign({ threadId, accountId }: UnsubscribeClaim): string {
    return this.signed.sign([threadId, accountId]);
  }

  /** Null for whatever no key of the ring signed. */
  verify(text: string): UnsubscribeClaim | null {
    const [threadId, accountId, ...more] = this.signed.verify(text) ?? [];
    if (threadId === undefined || accountId === undefined || more.length > 0) return null;
    return { threadId, accountId };
  }
}
