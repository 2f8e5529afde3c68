import { sql } from 'drizzle-orm';
import { check, jsonb, pgTable, text, timestamp, unique, uuid } from 'drizzle-orm/pg-core';

import { outboxEvent } from './outbox-event.js';

/** What the jobs of one event share, stored once: a webhook's body as text, or a mail's parts. */
export const deliveryContent = pgTable(
  'delivery_content',
  {
    id: uuid('id').primaryKey(),
    eventId: uuid('event_id').references(() => outboxEvent.id),
    kind: text('kind', { enum: ['email', 'webhook'] }).notNull(),
    body: text('body'),
    parts: jsonb('parts'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    unique('delivery_content_event_kind_unique').on(table.eventId, table.kind),
    check(
      'delivery_content_fits_kind',
      sql`(${table.kind} = 'webhook' and ${table.body} is not null and ${table.parts} is null)
        or (${table.kind} = 'email' and ${table.parts} is not null and ${table.body} is null)`,
    ),
  ],
);
