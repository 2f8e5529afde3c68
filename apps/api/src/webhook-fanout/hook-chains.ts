import type { HookChain } from '@ghost/db';
import type { Settings } from '@ghost/settings';
import { Inject, Injectable } from '@nestjs/common';

import { SETTINGS } from '../database/tokens.js';
import { SignedIds } from '../mail-links/signed-ids.js';

const PURPOSE = 'ghost hook chain v1';
/**
 * Long enough for an endpoint that answers first and works then. A loop that is slower than that goes on, at
 * most once in this time; a chain that somebody kept is worth nothing afterwards.
 */
const LIFE_SECONDS = 3600;
/** Two API processes need not agree on the second. */
const CLOCK_SKEW_SECONDS = 60;
/** Hooks that may have led to one event: what comes of it is sent to none. */
export const MAX_CHAIN_HOOKS = 10;

/**
 * Signs and reads `x-ghost-chain`: when it was made, the repository, and the hooks that led to a delivery, its own
 * included. Whoever calls the API because of the delivery sends it along, and what comes of the call is sent
 * to none of these hooks again.
 */
@Injectable()
export class HookChains {
  private readonly signed: SignedIds;

  constructor(@Inject(SETTINGS) { keyRing }: Pick<Settings, 'keyRing'>) {
    this.signed = new SignedIds(keyRing, PURPOSE);
  }

  /** @param now - wall clock */
  write({ repositoryId, hookIds }: HookChain, now: Date): string {
    return this.signed.sign([secondsOf(now), repositoryId, ...hookIds]);
  }

  /**
   * Null for whatever no key of the ring signed, and for what is no longer, or not yet, valid.
   * @param now - wall clock
   */
  read(text: string, now: Date): HookChain | null {
    const [madeAt, repositoryId, ...hookIds] = this.signed.verify(text) ?? [];
    if (madeAt === undefined || repositoryId === undefined) return null;
    const age = secondsOf(now) - madeAt;
    if (age > LIFE_SECONDS || age < -CLOCK_SKEW_SECONDS) return null;
    if (hookIds.length === 0 || hookIds.length > MAX_CHAIN_HOOKS) return null;
    return { repositoryId, hookIds };
  }
}

function secondsOf(time: Date): number {
  return Math.floor(time.getTime() / 1000);
}
