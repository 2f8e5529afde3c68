import type { FanoutEvent, FanoutPage } from '../../apps/api/src/outbox/fanout-consumer.js';
import { commentPayload, type Place } from './comment-payload.js';
import type { FanoutWorld } from './fanout-world.js';

const NOW = new Date('2026-01-02T03:04:05Z');

/** A committed comment, as fan-out gets it. */
export async function commentEventOf(
  world: FanoutWorld,
  place: Place,
  actorId = place.ownerId,
): Promise<FanoutEvent> {
  const id = await world.publishComment(place, actorId);
  const payload = commentPayload(place, actorId, 'Hello.');
  const { repositoryId } = place;
  return { id, type: 'comment.created', version: 1, repositoryId, payload, createdAt: NOW };
}

/** Why each account gets a mail. */
export function readersOf({ jobs }: FanoutPage): Record<string, string | undefined> {
  return Object.fromEntries(
    jobs.map((job) => {
      if (job.kind !== 'email') throw new Error('The notifier makes mails only');
      return [job.accountId, job.own.slots['r']];
    }),
  );
}

/** Why each target gets none. */
export function skipsOf({ skips }: FanoutPage): Record<string, string> {
  return Object.fromEntries(skips.map((skip) => [skip.targetId, skip.reason]));
}
