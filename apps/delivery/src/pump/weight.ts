import type { DeliveryJob } from '@ghost/contract';
import type { ClaimedJob } from '@ghost/queue';

/** Held once for all jobs of a claim that share it. Without the text itself, which a weight would keep alive. */
interface SharedText {
  readonly textBytes: number;
  readonly requestBytes: number;
  holders: number;
}

/** What the content of a job in hand takes in memory. */
export interface Weight {
  /** Of its own: the request that a webhook is sent as, or a mail's text and HTML with what goes over the wire. */
  readonly ownBytes: number;
  readonly shared: SharedText | null;
}

/** With its part of what it shares with others that are still held. */
export function bytesOf({ ownBytes, shared }: Weight): number {
  return shared === null ? ownBytes : ownBytes + shared.textBytes / Math.max(1, shared.holders);
}

/** Counts one holder more or less; returns by how many bytes all that is held changes. */
export function hold({ ownBytes, shared }: Weight, by: 1 | -1): number {
  if (shared === null) return by * ownBytes;
  const others = by === 1 ? shared.holders : shared.holders - 1;
  shared.holders += by;
  return by * (ownBytes + (others === 0 ? shared.textBytes : 0));
}

/** Weighs the jobs of one claim, which has the text of each event once. */
export function weighing(): (claimed: ClaimedJob) => Weight {
  const texts = new Map<string, { body: string; shared: SharedText }>();
  return ({ id, eventId, job }) => {
    if (job.kind === 'email') {
      const { text, html = '' } = job.message;
      const sides = [sizesOf(text), sizesOf(html)];
      const ownBytes = sides.reduce((sum, { inMemory, sent }) => sum + inMemory + sent, 0);
      return { ownBytes, shared: null };
    }
    const { body } = job;
    const known = texts.get(eventId ?? id);
    if (known?.body === body) {
      return { ownBytes: known.shared.requestBytes, shared: known.shared };
    }
    const { inMemory, sent } = sizesOf(body);
    const shared = { textBytes: inMemory, requestBytes: sent, holders: 0 };
    texts.set(eventId ?? id, { body, shared });
    return { ownBytes: sent, shared };
  };
}

/** Lets go of what is not needed any more once a job was sent; whom it went to is kept. */
export function dropContent(job: DeliveryJob): void {
  if (job.kind === 'webhook') {
    job.body = '';
    return;
  }
  job.message.text = '';
  delete job.message.html;
}

/** V8 takes a byte a character where all are of Latin-1, else two; what is not ASCII counts as the latter. */
function sizesOf(text: string): { inMemory: number; sent: number } {
  const sent = Buffer.byteLength(text);
  return { inMemory: sent === text.length ? sent : 2 * text.length, sent };
}
