import {
  type Database,
  inTransaction,
  type Pool,
  publishEvent,
  schema,
  type Transaction,
} from '@ghost/db';
import { type Queue, sqlOf } from '@ghost/queue';
import type { Settings } from '@ghost/settings';
import { generateSecret } from '@ghost/signing';
import { encrypt, hookSecretContext } from '@ghost/vault';
import { Inject, Injectable } from '@nestjs/common';
import { and, asc, count, eq, gt, sql } from 'drizzle-orm';
import type { Logger } from 'pino';

import type { Account } from '../accounts/current-account.js';
import { DATABASE, LOGGER, POOL, QUEUE, SETTINGS } from '../database/tokens.js';
import { invalidField, notFound } from '../http/api-error.js';
import type { Page } from '../http/page.js';
import {
  lockOutFanout,
  type RepositoryAccess,
  requireAccess,
} from '../repositories/repository-access.js';
import type { RepositoryPath } from '../repositories/repository-path.js';
import { actorSnapshot, hookSnapshot, repositorySnapshot } from '../snapshots.js';
import { requireEndpoint } from './endpoint-check.js';
import { editEvents } from './hook-events.js';
import type { HookConfigEdit, HookEdit, HookPath, NewHook } from './hook-schemas.js';
import type { FoundHook, HookRow } from './hook-view.js';
import { newestAttempt } from './last-response.js';

/** GitHub's bound, an event type; here for a repository, as each event is a job for each hook. */
const MAX_HOOKS = 20;
const ZEN = 'Nothing committed is lost.';

export interface MadeHook extends FoundHook {
  /** The secret that was generated, shown once; null when the asker brought one. */
  generatedSecret: string | null;
}

/** Either edit: a config that replaces holds every default, one that does not what is to change. */
export type AnyHookEdit = Omit<HookEdit, 'config' | 'name'> & {
  config?: HookConfigEdit | undefined;
};

/** Judges what is there, under its lock, before it is changed; throws to refuse. */
export type HookCheck = (current: FoundHook) => void;

@Injectable()
export class HooksService {
  constructor(
    @Inject(DATABASE) private readonly db: Database,
    @Inject(POOL) private readonly pool: Pool,
    @Inject(QUEUE) private readonly queue: Queue,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Makes a hook and pings it alone. */
  async create(account: Account, path: RepositoryPath, wanted: NewHook): Promise<MadeHook> {
    const access = await requireAccess(this.db, account, path, 'admin');
    const url = this.requireEndpoint(account, access, null, wanted.config, 'config.') ?? '';
    const given = wanted.config.secret ?? null;
    const generatedSecret = given === null ? generateSecret() : null;
    const hook = await inTransaction(this.pool, async (tx) => {
      await requireRoom(tx, access.repository.id);
      const [made] = await tx
        .insert(schema.hook)
        .values({
          repositoryId: access.repository.id,
          url,
          events: wanted.events,
          active: wanted.active,
          githubSignature: wanted.config.github_signature,
        })
        .returning();
      if (made === undefined) throw new Error('The insert of a hook returned no row');
      await this.storeSecret(tx, made.id, given ?? generatedSecret ?? '');
      await this.publishPing(tx, access, account, made);
      return made;
    });
    return { access, hook, last: null, generatedSecret };
  }

  /** One more than the page holds, when there are more. */
  async list(account: Account, path: RepositoryPath, page: Page): Promise<FoundHook[]> {
    const access = await requireAccess(this.db, account, path, 'admin');
    const ofRepository = eq(schema.hook.repositoryId, access.repository.id);
    const rows = await selectHooks(this.db)
      .where(and(ofRepository, gt(schema.hook.id, page.after ?? 0)))
      .orderBy(asc(schema.hook.id))
      .limit(page.per_page + 1);
    return rows.map((row) => ({ access, ...row }));
  }

  async find(account: Account, path: HookPath): Promise<FoundHook> {
    const access = await requireAccess(this.db, account, path, 'admin');
    const [row] = await selectHooks(this.db).where(isHook(access, path));
    if (row === undefined) throw notFound();
    return { access, ...row };
  }

  /**
   * Changes what the edit names. A secret that it does not name stays; one that it names replaces every
   * live one.
   */
  async edit(
    account: Account,
    path: HookPath,
    edit: AnyHookEdit,
    check: HookCheck,
    within: 'config.' | '' = 'config.',
  ): Promise<FoundHook> {
    const access = await requireAccess(this.db, account, path, 'admin');
    return inTransaction(this.pool, async (tx) => {
      const found = await lockHook(tx, access, path);
      check(found);
      const url = this.requireEndpoint(account, access, path.id, edit.config ?? {}, within);
      const edited = editEvents(found.hook.events, edit);
      if (!edited.ok) throw invalidField(edited.field, edited.code, edited.message);
      const [hook] = await tx
        .update(schema.hook)
        .set({
          url: url ?? found.hook.url,
          events: [...edited.events],
          active: edit.active ?? found.hook.active,
          githubSignature: edit.config?.github_signature ?? found.hook.githubSignature,
          updatedAt: sql`now()`,
        })
        .where(eq(schema.hook.id, path.id))
        .returning();
      if (hook === undefined) throw new Error('The update of a locked hook returned no row');
      const secret = edit.config?.secret ?? null;
      if (secret !== null) {
        await tx.delete(schema.hookSecret).where(eq(schema.hookSecret.hookId, path.id));
        await this.storeSecret(tx, path.id, secret);
      }
      return { ...found, hook };
    });
  }

  /**
   * Deletes a hook and cancels what waits for it. The lock on the repository waits for pages of
   * fan-out that still saw the hook, so that none enqueues for it afterwards.
   */
  async remove(account: Account, path: HookPath, check: HookCheck): Promise<void> {
    const access = await requireAccess(this.db, account, path, 'admin');
    await inTransaction(this.pool, async (tx) => {
      await lockOutFanout(tx, access.repository.id);
      check(await lockHook(tx, access, path));
      await tx.delete(schema.hook).where(isHook(access, path));
      await this.queue.cancel(sqlOf(tx), { hookId: path.id }, 'hook_deleted');
    });
  }

  /** Sends a ping to one hook alone. */
  async ping(account: Account, path: HookPath): Promise<void> {
    const { access, hook } = await this.find(account, path);
    await inTransaction(this.pool, (tx) => this.publishPing(tx, access, account, hook));
  }

  private requireEndpoint(
    account: Account,
    { repository }: RepositoryAccess,
    hookId: number | null,
    config: HookConfigEdit,
    within: 'config.' | '',
  ): string | undefined {
    const ids = { accountId: account.id, repositoryId: repository.id, hookId };
    return requireEndpoint(config, this.settings.addressPolicy, within, (refusal) =>
      this.logger.info({ event: 'hook.refused', ...ids, ...refusal }),
    );
  }

  private async storeSecret(tx: Transaction, hookId: number, secret: string): Promise<void> {
    const ciphertext = encrypt(this.settings.keyRing, secret, hookSecretContext(hookId));
    await tx.insert(schema.hookSecret).values({ hookId, ciphertext });
  }

  private async publishPing(
    tx: Transaction,
    { repository, owner }: RepositoryAccess,
    sender: Account,
    hook: HookRow,
  ): Promise<void> {
    const payload = {
      zen: ZEN,
      hook_id: hook.id,
      hook: hookSnapshot(hook),
      repository: repositorySnapshot(this.settings.publicUrl, repository, owner),
      sender: actorSnapshot(sender),
    };
    await publishEvent(tx, { type: 'ping', repositoryId: repository.id, payload });
  }
}

function isHook({ repository }: RepositoryAccess, { id }: HookPath) {
  return and(eq(schema.hook.id, id), eq(schema.hook.repositoryId, repository.id));
}

function selectHooks(db: Database | Transaction) {
  const last = newestAttempt(db);
  const { outcome, reason, message, status } = last;
  return db
    .select({ hook: schema.hook, last: { outcome, reason, message, status } })
    .from(schema.hook)
    .leftJoinLateral(last, sql`true`);
}

/** Locks a hook against other edits; fan-out and delivery read it without waiting. */
async function lockHook(tx: Transaction, access: RepositoryAccess, path: HookPath) {
  const [locked] = await tx
    .select({ id: schema.hook.id })
    .from(schema.hook)
    .where(isHook(access, path))
    .for('no key update');
  // Read after the lock: what the statement that waited for it saw may be older.
  const [row] = locked === undefined ? [] : await selectHooks(tx).where(isHook(access, path));
  if (row === undefined) throw notFound();
  return { access, ...row };
}

/**
 * Two at once must not both see the last free place; the lock is no row's, so fan-out never waits for it.
 * The repository, which may have been deleted meanwhile, stays until the hook is there.
 */
async function requireRoom(tx: Transaction, repositoryId: number): Promise<void> {
  await tx.execute(
    sql`SELECT pg_advisory_xact_lock(hashtextextended(${`hooks of ${repositoryId}`}, 0))`,
  );
  const kept = await tx
    .select({ id: schema.repository.id })
    .from(schema.repository)
    .where(eq(schema.repository.id, repositoryId))
    .for('key share');
  if (kept.length === 0) throw notFound();
  const [found] = await tx
    .select({ hooks: count() })
    .from(schema.hook)
    .where(eq(schema.hook.repositoryId, repositoryId));
  if ((found?.hooks ?? 0) >= MAX_HOOKS) {
    throw invalidField(
      'hooks',
      'too_many',
      `A repository has at most ${MAX_HOOKS} hooks. Delete one first.`,
    );
  }
}
