import { toStorableJson } from '@ghost/contract';
import { uuidv7 } from 'uuidv7';

import type { NewContent, Sql } from '../queue.js';

/** The first writer's content stays: a fan-out that runs twice must not change bytes that were sent. */
export async function storeContent(tx: Sql, content: NewContent): Promise<string> {
  const body = content.kind === 'webhook' ? content.body : null;
  const parts = content.kind === 'email' ? toStorableJson(content.parts) : null;
  const [made] = await tx.query<{ id: string }>(
    `INSERT INTO delivery_content (id, event_id, kind, body, parts) VALUES ($1, $2, $3, $4, $5::jsonb)
     ON CONFLICT (event_id, kind) DO NOTHING RETURNING id`,
    [uuidv7(), content.eventId, content.kind, body, parts],
  );
  if (made) return made.id;
  const [kept] = await tx.query<{ id: string }>(
    'SELECT id FROM delivery_content WHERE event_id = $1 AND kind = $2',
    [content.eventId, content.kind],
  );
  if (!kept) throw new Error(`The ${content.kind} content of event ${content.eventId} vanished`);
  return kept.id;
}
