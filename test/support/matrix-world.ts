import { randomBytes } from 'node:crypto';
import type { ApiScope } from '@ghost/db';
import { hashToken } from '@ghost/operations';
import { parseKeyRing } from '@ghost/vault';

import { VerificationTokens } from '../../apps/api/src/accounts/addresses/verification-tokens.js';
import { UnsubscribeTokens } from '../../apps/api/src/unsubscribe/unsubscribe-tokens.js';
import { addDelivery } from './hook-delivery.js';
import { type Person, startTestApi, type TestApi } from './test-api.js';

export type Visibility = 'public' | 'private';

/** Who asks. Those after `owner` are the owner, by a token that is not good for it. */
export const ROLES = [
  'anonymous',
  'stranger',
  'reader',
  'writer',
  'admin',
  'owner',
  'wrong scope',
  'expired token',
  'revoked token',
] as const;
export type Role = (typeof ROLES)[number];

const SCOPES: readonly ApiScope[] = ['repo', 'hooks', 'admin'];
const LINK_LIFE_MS = 3_600_000;
const MEMBERS = { reader: 'read', writer: 'write', admin: 'admin', victim: 'write' } as const;
const PEOPLE = ['owner', 'stranger', 'reader', 'writer', 'admin', 'victim'] as const;
type Name = (typeof PEOPLE)[number];

/** A repository with one of everything: its thread and comment are the victim's. */
export interface Place {
  readonly id: number;
  readonly name: string;
  readonly threadId: number;
  readonly commentId: number;
  readonly hookId: number;
  /** An attempt of the hook, whose delivery ended. */
  readonly deliveryId: number;
  /** That this delivery is of. */
  readonly eventId: string;
}

/** The API with people of each role, and places that they are nothing or something in. */
export class MatrixWorld {
  readonly api: TestApi;
  readonly unsubscribe: UnsubscribeTokens;
  readonly verification: VerificationTokens;
  readonly #people: Record<Name, Person>;
  readonly #tokens = new Map<string, string>();
  #made = 0;

  private constructor(api: TestApi, keyRing: ReturnType<typeof ring>, people: Person[]) {
    this.api = api;
    this.unsubscribe = new UnsubscribeTokens({ keyRing });
    this.verification = new VerificationTokens({ keyRing });
    this.#people = Object.fromEntries(people.map((one) => [one.login, one])) as Record<
      Name,
      Person
    >;
  }

  static async start(): Promise<MatrixWorld> {
    const keys = `test:${randomBytes(32).toString('base64')}`;
    const api = await startTestApi({ env: { GHOST_SECRET_KEYS: keys } });
    const people: Person[] = [];
    for (const login of PEOPLE) people.push(await api.addPerson(login));
    return new MatrixWorld(api, ring(keys), people);
  }

  stop(): Promise<void> {
    return this.api.stop();
  }

  person(name: Name): Person {
    return this.#people[name];
  }

  /** The account of a role; of none, the owner's. */
  accountOf(role: Role): Person {
    return this.#people[isPerson(role) ? role : 'owner'];
  }

  /** The token of a role, or null. @param scope - which a wrong one lacks */
  async tokenOf(role: Role, scope: ApiScope | null): Promise<string | null> {
    if (role === 'anonymous') return null;
    if (role === 'wrong scope') return this.#ownersToken(SCOPES.filter((one) => one !== scope));
    if (role === 'expired token') return this.#ownersToken(SCOPES, 'expires_at');
    if (role === 'revoked token') return this.#ownersToken(SCOPES, 'revoked_at');
    return this.accountOf(role).token;
  }

  /** A name that nothing has yet. */
  fresh(prefix: string): string {
    this.#made += 1;
    return `${prefix}-${this.#made}`;
  }

  async insert(text: string, values: unknown[]): Promise<number> {
    const { rows } = await this.api.pool.query<{ id: string }>(`${text} RETURNING id`, values);
    return Number(rows[0]?.id);
  }

  /** Another address of somebody, as if it had been verified. */
  async addAddress(accountId: number): Promise<{ id: number; email: string }> {
    const email = `${this.fresh('other')}@people.example`;
    const text = `INSERT INTO email_address (account_id, address, verified_at) VALUES ($1, $2, now())`;
    return { id: await this.insert(text, [accountId, email]), email };
  }

  async place(visibility: Visibility): Promise<Place> {
    const { owner, victim } = this.#people;
    const name = this.fresh('place');
    const id = await this.insert(
      'INSERT INTO repository (owner_id, name, private) VALUES ($1, $2, $3)',
      [owner.id, name, visibility === 'private'],
    );
    const query = (text: string, values: unknown[]) => this.api.pool.query(text, values);
    for (const [login, permission] of Object.entries(MEMBERS)) {
      await query(
        'INSERT INTO member (repository_id, account_id, permission) VALUES ($1, $2, $3)',
        [id, this.#people[login as Name].id, permission],
      );
    }
    await query('INSERT INTO thread_counter (repository_id) VALUES ($1)', [id]);
    const { id: threadId } = await this.thread(id, victim);
    const commentId = await this.comment(threadId, victim);
    // Everybody has made a choice, strangers too: they could read it once.
    await query('INSERT INTO watch (repository_id, account_id) SELECT $1, id FROM account', [id]);
    await query(
      `INSERT INTO thread_subscription (thread_id, account_id, reason) SELECT $1, id, 'manual' FROM account`,
      [threadId],
    );
    const hook = await owner.ask('POST', `/repos/owner/${name}/hooks`, {
      config: { url: 'https://receiver.example/hook' },
    });
    const hookId: number = hook.body.id;
    const delivery = await addDelivery(this.api.pool, { id: hookId, repositoryId: id });
    const { attemptId: deliveryId, eventId } = delivery;
    return { id, name, threadId, commentId, hookId, deliveryId, eventId };
  }

  /** The next thread of a repository. */
  async thread(repositoryId: number, author: Person): Promise<{ id: number; number: number }> {
    const { rows } = await this.api.pool.query<{ id: string; number: string }>(
      `WITH counted AS (UPDATE thread_counter SET last = last + 1 WHERE repository_id = $1 RETURNING last)
       INSERT INTO thread (repository_id, number, author_id, title, body)
       SELECT $1, last, $2, 'Title', '' FROM counted RETURNING id, number`,
      [repositoryId, author.id],
    );
    const id = Number(rows[0]?.id);
    await this.api.pool.query('INSERT INTO comment_counter (thread_id) VALUES ($1)', [id]);
    return { id, number: Number(rows[0]?.number) };
  }

  /** The next comment of a thread. */
  async comment(threadId: number, author: Person): Promise<number> {
    return this.insert(
      `WITH counted AS (UPDATE comment_counter SET last = last + 1 WHERE thread_id = $1 RETURNING last)
       INSERT INTO comment (thread_id, number, author_id, body) SELECT $1, last, $2, 'Text' FROM counted`,
      [threadId, author.id],
    );
  }

  verificationLink(addressId: number): string {
    const expiresAt = new Date(Date.now() + LINK_LIFE_MS);
    return this.verification.sign({ addressId, expiresAt });
  }

  /** @param ended - how it ended, long ago */
  async #ownersToken(scopes: readonly ApiScope[], ended?: 'expires_at' | 'revoked_at') {
    const kind = `${scopes.join(',')} ${ended ?? ''}`;
    const known = this.#tokens.get(kind);
    if (known !== undefined) return known;
    const token = this.fresh('ghs_token');
    this.#tokens.set(kind, token);
    await this.insert(
      `INSERT INTO api_token (account_id, label, token_hash, scopes, created_at, ${ended ?? 'expires_at'})
       VALUES ($1, 'matrix', $2, $3, '2000-01-01', $4)`,
      [this.#people.owner.id, hashToken(token), scopes, ended === undefined ? null : '2001-01-01'],
    );
    return token;
  }
}

function isPerson(role: Role): role is Role & Name {
  return (PEOPLE as readonly string[]).includes(role);
}

function ring(keys: string) {
  const parsed = parseKeyRing(keys);
  if (!parsed.ok) throw new Error(parsed.faults.join('; '));
  return parsed.ring;
}
