import { type KeyRing, parseKeyRing } from '@ghost/vault';

/** The ring that `GHOST_SECRET_KEYS` of this text makes. */
export function keyRingOf(text: string): KeyRing {
  const parsed = parseKeyRing(text);
  if (!parsed.ok) throw new Error(parsed.faults.join('; '));
  return parsed.ring;
}
