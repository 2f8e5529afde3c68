import { randomUUID } from 'node:crypto';

import { inTransaction, type Pool } from '@ghost/db';
import {
  addAccount,
  addAddress,
  listAddresses,
  listAudit,
  makePrimary,
  removeAddresses,
  verifyAddress,
} from '@ghost/operations';
import { createPostgresQueue, mailLane, type Queue, sqlOf } from '@ghost/queue';

import { mailParts } from './delivery-seed.js';

const LINK_LIVES_MS = 72 * 3_600_000;

let people = 0;

/** An account of a test, whose addresses an operator changes; mails to them wait in the queue. */
export class AccountWithAddresses {
  readonly pool: Pool;
  readonly queue: Queue;
  /** No other account's of this run. */
  readonly number: number;
  readonly id: number;
  readonly login: string;
  /** Its primary address. */
  readonly first: string;

  private constructor(pool: Pool, number: number, id: number) {
    this.pool = pool;
    this.queue = createPostgresQueue({ pool });
    this.number = number;
    this.id = id;
    this.login = loginOf(number);
    this.first = firstOf(number);
  }

  static async create(pool: Pool): Promise<AccountWithAddresses> {
    people += 1;
    const number = people;
    const { id } = await addAccount(pool, { login: loginOf(number), email: firstOf(number) });
    return new AccountWithAddresses(pool, number, id);
  }

  add(address: string, verified = false) {
    return addAddress(this.pool, { accountId: this.id, address, verified, actor: null });
  }

  remove(...addresses: string[]) {
    const wish = { accountId: this.id, addresses, actor: null };
    return removeAddresses(this.pool, this.queue, wish);
  }

  prefer(address: string) {
    return makePrimary(this.pool, { accountId: this.id, address, actor: null });
  }

  verify(address: string) {
    return verifyAddress(this.pool, this.queue, { login: this.login, address, actor: null });
  }

  /** Each address, and what it is. */
  async shown(): Promise<string[]> {
    const addresses = await listAddresses(this.pool, { accountId: this.id });
    return addresses.map(
      ({ address, primary, verifiedAt }) =>
        `${address}${primary ? ' primary' : ''}${verifiedAt === null ? '' : ' verified'}`,
    );
  }

  /** Action and address of its lines in the audit, the newest first. */
  async audit(): Promise<string[]> {
    return (await listAudit(this.pool, { account: this.login }))
      .filter(({ action }) => action.startsWith('address.'))
      .map(({ action, detail }) => `${action} ${String(detail['address'])}`);
  }

  /** A mail that waits, of a thread or of `address.added`, for the row that the address has now. */
  async queued(
    address: string,
    type: 'comment.created' | 'address.added',
    linkEndsInMs = LINK_LIVES_MS,
  ): Promise<string> {
    const [eventId, id] = [randomUUID(), randomUUID()];
    const row = (await listAddresses(this.pool, { accountId: this.id })).find(
      (one) => one.address.toLowerCase() === address.toLowerCase(),
    );
    const expiresAt = new Date(Date.now() + linkEndsInMs).toISOString();
    await this.pool.query(
      'INSERT INTO outbox_event (id, type, version, payload) VALUES ($1, $2, 1, $3)',
      [eventId, type, { address_id: row?.id, expires_at: expiresAt }],
    );
    await inTransaction(this.pool, async (tx) => {
      const parts = mailParts('');
      const contentId = await this.queue.storeContent(sqlOf(tx), { kind: 'email', eventId, parts });
      await this.queue.enqueue(sqlOf(tx), [
        {
          id,
          idempotencyKey: `email:${eventId}:${this.id}`,
          eventId,
          contentId,
          kind: 'email',
          lane: mailLane(address, false),
          repositoryId: null,
          accountId: this.id,
          own: { to: { name: this.login, address }, slots: {} },
        },
      ]);
    });
    return id;
  }

  /** A mail that was delivered; asked for again, it may go only where mail may go now. */
  async delivered(...mail: Parameters<AccountWithAddresses['queued']>): Promise<string> {
    const id = await this.queued(...mail);
    await this.pool.query(
      `UPDATE delivery_job SET status = 'delivered', finished_at = now() WHERE id = $1`,
      [id],
    );
    return id;
  }

  /** Status of a job, and why it is so. */
  async stateOf(jobId: string): Promise<string | undefined> {
    const { rows } = await this.pool.query<{ state: string }>(
      `SELECT concat_ws(' ', status, last_error) AS state FROM delivery_job WHERE id = $1`,
      [jobId],
    );
    return rows[0]?.state;
  }
}

function loginOf(number: number): string {
  return `person-${number}`;
}

function firstOf(number: number): string {
  return `p${number}@example.test`;
}
