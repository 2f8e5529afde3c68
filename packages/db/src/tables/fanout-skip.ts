import { bigint, index, pgTable, primaryKey, text, timestamp, uuid } from 'drizzle-orm/pg-core';

import { outboxEvent } from './outbox-event.js';

/** Targets that fan-out left out, and why: hooks and people who would ask "why not me". */
export const fanoutSkip = pgTable(
  'fanout_skip',
  {
    eventId: uuid('event_id')
      .notNull()
      .references(() => outboxEvent.id, { onDelete: 'cascade' }),
    targetKind: text('target_kind', { enum: ['hook', 'account'] }).notNull(),
    targetId: bigint('target_id', { mode: 'number' }).notNull(),
    reason: text('reason').notNull(),
    /** Which of the reason's cases it was: the field of a filter, for example. */
    detail: text('detail'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    primaryKey({
      name: 'fanout_skip_pkey',
      columns: [table.eventId, table.targetKind, table.targetId],
    }),
    index('fanout_skip_target').on(table.targetKind, table.targetId, table.createdAt),
  ],
);
