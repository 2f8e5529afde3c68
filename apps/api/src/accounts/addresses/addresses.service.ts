import { inTransaction, type Pool, publishEvent, type Transaction } from '@ghost/db';
import {
  type AddedAddress,
  addAddress,
  type AddressRow,
  listAddresses,
  lockAccount,
  makePrimary,
  removeAddresses,
  verifyAddress,
} from '@ghost/operations';
import { type Queue, sqlOf } from '@ghost/queue';
import type { Settings } from '@ghost/settings';
import { Inject, Injectable } from '@nestjs/common';

import { POOL, QUEUE, SETTINGS } from '../../database/tokens.js';
import { notFound } from '../../http/api-error.js';
import type { Precondition } from '../../http/entity-tag.js';
import { actorSnapshot } from '../../snapshots.js';
import { asked } from '../account-fault.js';
import type { Account } from '../current-account.js';
import { emailView } from './email-view.js';
import { spendVerificationMails } from './verification-quota.js';
import { VerificationTokens } from './verification-tokens.js';

/** A mail is tried for 48 h; whoever gets it at the end has a day left. */
const LINK_LIFE_MS = 72 * 3600 * 1000;

/** An account's addresses, as itself sees and changes them. */
@Injectable()
export class AddressesService {
  constructor(
    @Inject(POOL) private readonly pool: Pool,
    @Inject(QUEUE) private readonly queue: Queue,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'publicUrl'>,
    @Inject(VerificationTokens) private readonly tokens: VerificationTokens,
  ) {}

  /** All of them: there are few. */
  list({ id }: Account): Promise<AddressRow[]> {
    return listAddresses(this.pool, { accountId: id });
  }

  /**
   * Adds addresses, all or none, with a verification mail to each; one that is there unverified gets a
   * new mail.
   */
  add(account: Account, emails: readonly string[]): Promise<AddressRow[]> {
    return inTransaction(this.pool, async (tx) => {
      const added: AddedAddress[] = [];
      for (const [index, address] of emails.entries()) {
        const wish = { accountId: account.id, address, verified: false, actor: account };
        added.push(await asked(`emails.${index}`, () => addAddress(tx, wish)));
      }
      await spendVerificationMails(
        sqlOf(tx),
        account,
        added.map(({ address }) => address),
      );
      for (const address of added) await this.announce(tx, account, address);
      return added;
    });
  }

  private async announce(tx: Transaction, account: Account, address: AddressRow): Promise<void> {
    const expiresAt = new Date(Date.now() + LINK_LIFE_MS);
    const token = this.tokens.sign({ addressId: address.id, expiresAt });
    await publishEvent(tx, {
      type: 'address.added',
      repositoryId: null,
      payload: {
        account: actorSnapshot(account),
        address_id: address.id,
        address: address.address,
        verification_url: `${this.settings.publicUrl}/api/verify-address/${token}`,
        expires_at: expiresAt.toISOString(),
      },
    });
  }

  /** Removes addresses, all or none. */
  remove(account: Account, emails: readonly string[], precondition: Precondition): Promise<void> {
    return this.change(account, precondition, async (tx) => {
      const wish = { accountId: account.id, addresses: emails, actor: account };
      const result = await asked('emails', () => removeAddresses(tx, this.queue, wish));
      if (result === 'absent') throw notFound();
    });
  }

  /** @returns all addresses, as they are now */
  makePrimary(
    account: Account,
    address: string,
    precondition: Precondition,
  ): Promise<AddressRow[]> {
    return this.change(account, precondition, async (tx) => {
      const wish = { accountId: account.id, address, actor: account };
      const result = await asked('email', () => makePrimary(tx, wish));
      if (result === 'absent') throw notFound();
      return listAddresses(tx, { accountId: account.id });
    });
  }

  /** What the page of a link says of its row; null when that is gone. */
  async find(
    addressId: number,
  ): Promise<{ login: string; address: string; verified: boolean } | null> {
    const { rows } = await this.pool.query<{ login: string; address: string; verified: boolean }>(
      `SELECT a.login, e.address, e.verified_at IS NOT NULL AS verified
       FROM email_address e JOIN account a ON a.id = e.account_id WHERE e.id = $1`,
      [addressId],
    );
    return rows[0] ?? null;
  }

  /** By the link that was mailed to it. */
  verify(addressId: number): Promise<'verified' | 'unchanged' | 'absent'> {
    return verifyAddress(this.pool, this.queue, { addressId, actor: 'link' });
  }

  private change<T>(
    account: Account,
    precondition: Precondition,
    work: (tx: Transaction) => Promise<T>,
  ): Promise<T> {
    return inTransaction(this.pool, async (tx) => {
      await lockAccount(sqlOf(tx), { accountId: account.id });
      precondition((await listAddresses(tx, { accountId: account.id })).map(emailView));
      return work(tx);
    });
  }
}
