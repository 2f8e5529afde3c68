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
import { count, eq, sql } from 'drizzle-orm';
import type { Logger } from 'pino';

import type { Account } from '../accounts/current-account.js';
import { DATABASE, LOGGER, POOL, QUEUE, SETTINGS } from '../database/tokens.js';
import { invalidField } from '../http/api-error.js';
import type { Page } from '../http/page.js';
import {
  holdAccess,
  lockAccess,
  type RepositoryAccess,
} from '../repositories/repository-access.js';
import type { RepositoryPath } from '../repositories/repository-path.js';
import { actorSnapshot, hookSnapshot, repositorySnapshot } from '../snapshots.js';
import { requireEndpoint } from './endpoint-check.js';
import { auditHook, HOOK_FIELDS, type HookField } from './hook-audit.js';
import { editEvents } from './hook-events.js';
import { findHook, listHooks, lockHook } from './hook-rows.js';
import type { HookConfigEdit, HookEdit, HookPath, NewHook } from './hook-schemas.js';
import type { FoundHook, HookRow } from './hook-view.js';

/** GitHub's bound, an event type; here for a repository, as each event is a job for each hook. */
const MAX_HOOKS = 20;
const ZEN = 'Nothing committed is lost.';

export interface MadeHook extends Omit<FoundHook, 'liveSecrets'> {
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
    const given = wanted.config.secret ?? null;
    const generatedSecret = given === null ? generateSecret() : null;
    return inTransaction(this.pool, async (tx) => {
      const access = await holdAccess(tx, account, path, 'admin');
      const url = this.requireEndpoint(account, access, null, wanted.config, 'config.') ?? '';
      await requireRoom(tx, access.repository.id);
      const [hook] = await tx
        .insert(schema.hook)
        .values({
          repositoryId: access.repository.id,
          url,
          events: wanted.events,
          active: wanted.active,
          githubSignature: wanted.config.github_signature,
        })
        .returning();
      if (hook === undefined) throw new Error('The insert of a hook returned no row');
      await this.storeSecret(tx, hook.id, given ?? generatedSecret ?? '');
      await auditHook(tx, account, access, { action: 'hook.added', after: hook });
      await this.publishPing(tx, access, account, hook);
      return { access, hook, last: null, generatedSecret };
    });
  }

  /** One more than the page holds, when there are more. */
  async list(account: Account, path: RepositoryPath, page: Page): Promise<FoundHook[]> {
    return listHooks(this.db, account, path, page);
  }

  async find(account: Account, path: HookPath): Promise<FoundHook> {
    return findHook(this.db, account, path);
  }

  /**
   * Changes what differs from the edit, and nothing when nothing does. A secret that the edit does not name
   * stays; one that it names replaces every live one, also by the same: nobody can tell that it is.
   */
  async edit(
    account: Account,
    path: HookPath,
    edit: AnyHookEdit,
    check: HookCheck,
    within: 'config.' | '' = 'config.',
  ): Promise<FoundHook> {
    return inTransaction(this.pool, async (tx) => {
      const access = await holdAccess(tx, account, path, 'admin');
      const found = await lockHook(tx, access, path);
      check(found);
      const before = found.hook;
      const url = this.requireEndpoint(account, access, path.id, edit.config ?? {}, within);
      const next = nextSettings(before, edit, url);
      const secret = edit.config?.secret ?? null;
      const changed = changedFields(before, next, secret !== null);
      if (changed.length === 0) return found;
      const [after] = await tx
        .update(schema.hook)
        .set({ ...next, updatedAt: sql`now()` })
        .where(eq(schema.hook.id, path.id))
        .returning();
      if (after === undefined) throw new Error('The update of a locked hook returned no row');
      let { liveSecrets } = found;
      if (secret !== null) {
        await tx.delete(schema.hookSecret).where(eq(schema.hookSecret.hookId, path.id));
        liveSecrets = await this.storeSecret(tx, path.id, secret);
      }
      await auditHook(tx, account, access, { action: 'hook.changed', changed, before, after });
      return { ...found, hook: after, liveSecrets };
    });
  }

  /**
   * Deletes a hook and cancels what waits for it. The lock on the repository waits for pages of
   * fan-out that still saw the hook, so that none enqueues for it afterwards.
   */
  async remove(account: Account, path: HookPath, check: HookCheck): Promise<void> {
    await inTransaction(this.pool, async (tx) => {
      const access = await lockAccess(tx, account, path, 'admin');
      const found = await lockHook(tx, access, path);
      check(found);
      await tx.delete(schema.hook).where(eq(schema.hook.id, path.id));
      await auditHook(tx, account, access, { action: 'hook.removed', before: found.hook });
      await this.queue.cancel(sqlOf(tx), { hookId: path.id }, 'hook_deleted');
    });
  }

  /** Sends a ping to one hook alone. */
  async ping(account: Account, path: HookPath): Promise<void> {
    await inTransaction(this.pool, async (tx) => {
      const access = await holdAccess(tx, account, path, 'admin');
      const { hook } = await lockHook(tx, access, path);
      await this.publishPing(tx, access, account, hook);
    });
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

  /** @returns the id of its row */
  private async storeSecret(tx: Transaction, hookId: number, secret: string): Promise<string> {
    const ciphertext = encrypt(this.settings.keyRing, secret, hookSecretContext(hookId));
    const [stored] = await tx
      .insert(schema.hookSecret)
      .values({ hookId, ciphertext })
      .returning({ id: schema.hookSecret.id });
    if (stored === undefined) throw new Error('The insert of a secret returned no row');
    return String(stored.id);
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

type HookSettings = Pick<HookRow, 'url' | 'events' | 'active' | 'githubSignature'>;

/** @throws ApiError 422 when no event would be left */
function nextSettings(before: HookRow, edit: AnyHookEdit, url: string | undefined): HookSettings {
  const edited = editEvents(before.events, edit);
  if (!edited.ok) throw invalidField(edited.field, edited.code, edited.message);
  return {
    url: url ?? before.url,
    events: [...edited.events],
    active: edit.active ?? before.active,
    githubSignature: edit.config?.github_signature ?? before.githubSignature,
  };
}

function changedFields(before: HookSettings, after: HookSettings, newSecret: boolean) {
  const differs: Record<HookField, boolean> = {
    url: before.url !== after.url,
    events: before.events.join() !== after.events.join(),
    active: before.active !== after.active,
    github_signature: before.githubSignature !== after.githubSignature,
    secret: newSecret,
  };
  return HOOK_FIELDS.filter((field) => differs[field]);
}

/**
 * Two at once must not both see the last free place; the lock is no row's, so fan-out never waits for it.
 * It comes after the lock on the repository, which stays until the hook is there.
 */
async function requireRoom(tx: Transaction, repositoryId: number): Promise<void> {
  await tx.execute(
    sql`SELECT pg_advisory_xact_lock(hashtextextended(${`hooks of ${repositoryId}`}, 0))`,
  );
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
