import { sql } from 'drizzle-orm';
import { bigint, index, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

/**
 * Who changed who may do what: append-only, written in the transaction of the change. It keeps names
 * beside ids and has no foreign keys, as it outlives what it tells of.
 */
export const auditEntry = pgTable(
  'audit_entry',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    at: timestamp('at', { withTimezone: true }).notNull().defaultNow(),
    action: text('action').notNull(),
    /** Null: an operator at the command line, or delivery. */
    actorId: bigint('actor_id', { mode: 'number' }),
    actor: text('actor').notNull(),
    /** The API token that was used. */
    tokenId: bigint('token_id', { mode: 'number' }),
    repositoryId: bigint('repository_id', { mode: 'number' }),
    repository: text('repository'),
    /** Whose access it is about. */
    subjectId: bigint('subject_id', { mode: 'number' }),
    subject: text('subject'),
    /** What was before and after; never a secret. */
    detail: jsonb('detail').notNull().default({}),
  },
  (table) => [
    // By the names of then: what is gone, or called otherwise now, is found too.
    index('audit_entry_repository')
      .on(sql`lower(${table.repository})`, table.id)
      .where(sql`${table.repository} is not null`),
    index('audit_entry_subject')
      .on(sql`lower(${table.subject})`, table.id)
      .where(sql`${table.subject} is not null`),
    index('audit_entry_actor').on(sql`lower(${table.actor})`, table.id),
    // Counts an account's verification mails of the last hour.
    index('audit_entry_verification_mails')
      .on(table.subjectId, table.at)
      .where(sql`${table.action} = 'address.verification_sent'`),
  ],
);
