import type { Pool } from '@ghost/db';

/** A mail to an address, delivered already; returns the job's id. */
export async function addDeliveredMail(pool: Pool, address: string): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    `WITH event AS (INSERT INTO outbox_event (id, type, version, payload) VALUES (gen_random_uuid(), 'ping', 1, '{}') RETURNING id),
     content AS (INSERT INTO delivery_content (id, event_id, kind, parts) SELECT gen_random_uuid(), id, 'email', '{}' FROM event RETURNING id, event_id)
     INSERT INTO delivery_job (id, idempotency_key, event_id, content_id, kind, version, lane, own, expires_at, status, finished_at)
     SELECT gen_random_uuid(), gen_random_uuid()::text, event_id, id, 'email', 1, 'mail:people.example',
       jsonb_build_object('to', jsonb_build_object('name', 'R', 'address', $1::text), 'slots', '{}'::jsonb), now(), 'delivered', now()
     FROM content RETURNING id`,
    [address],
  );
  return rows[0]?.id ?? '';
}
