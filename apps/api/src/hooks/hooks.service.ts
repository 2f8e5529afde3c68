import {
  type Database,
  inTransaction,
  type Pool,
  publishEvent,
  schema,
  type Transaction,
} from '@ghost/db';
import {
  auditHook,
  auditResumed,
  changeHook,
  type HookAtHand,
  type KeptChoice,
  pauseHook,
  refuseFutileFilters,
  type Resumed,
  resumeHook,
  resumeInSteps,
  rotateHookSecret,
  type SetSecret,
  setUpHook,
  shownOf,
} from '@ghost/operations';
import { type Queue, sqlOf } from '@ghost/queue';
import type { Settings } from '@ghost/settings';
import { Inject, Injectable } from '@nestjs/common';
import { count, eq, sql } from 'drizzle-orm';
import type { Logger } from 'pino';

import type { Account } from '../accounts/current-account.js';
import { CancellingService } from '../cancelling/cancelling.service.js';
import { DATABASE, LOGGER, POOL, QUEUE, SETTINGS } from '../database/tokens.js';
import { invalidField } from '../http/api-error.js';
import type { Page } from '../http/page.js';
import {
  holdAccess,
  lockAccess,
  type RepositoryAccess,
} from '../repositories/repository-access.js';
import type { RepositoryPath } from '../repositories/repository-path.js';
import { fullName } from '../repositories/repository-view.js';
import { actorSnapshot, hookSnapshot, repositorySnapshot } from '../snapshots.js';
import { editEvents } from './hook-events.js';
import { askedOfHook, requireEndpoint, type Within } from './hook-fault.js';
import { NO_LANE, NOTHING_KEPT } from './hook-lane.js';
import { findHook, listHooks, lockHook } from './hook-rows.js';
import type {
  HookConfigEdit,
  HookEdit,
  HookPath,
  NewHook,
  SecretRotation,
} from './hook-schemas.js';
import type { FoundHook, HookRow } from './hook-view.js';

/** GitHub's bound, an event type; here for a repository, as each event is a job for each hook. */
const MAX_HOOKS = 20;
const ZEN = 'Nothing committed is lost.';

export interface MadeHook extends Omit<FoundHook, 'liveSecrets'> {
  /** Shown once. */
  secret: SetSecret;
}

export interface EditedHook extends FoundHook {
  /** The secret that the edit set; null when it set none. */
  secret: SetSecret | null;
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
    @Inject(CancellingService) private readonly cancelling: CancellingService,
  ) {}

  /** Makes a hook and pings it alone. */
  async create(account: Account, path: RepositoryPath, wanted: NewHook): Promise<MadeHook> {
    const { config } = wanted;
    return askedOfHook('config.', () =>
      inTransaction(this.pool, async (tx) => {
        const access = await holdAccess(tx, account, path, 'admin');
        const url = this.requireEndpoint(account, access, null, config, 'config.') ?? '';
        refuseFutileFilters(wanted);
        await requireRoom(tx, access.repository.id);
        const inserted = await insertHook(tx, access, wanted, url);
        const given = {
          secret: config.secret ?? null,
          headers: config.headers ?? {},
          rateLimit: config.rate_limit,
        };
        const { headerNames, ...secret } = await setUpHook(
          tx,
          this.queue,
          this.settings.keyRing,
          inserted.id,
          given,
        );
        const hook = { ...inserted, headerNames };
        const at = this.atHand(account, access, hook);
        await auditHook(sqlOf(tx), at, 'hook.added', { after: shownOf(hook) });
        await this.publishPing(tx, access, account, hook);
        return {
          access,
          hook,
          last: null,
          lane: NO_LANE,
          kept: NOTHING_KEPT,
          at: new Date(),
          secret,
        };
      }),
    );
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
    within: Within = 'config.',
  ): Promise<EditedHook> {
    return this.change(account, path, within, async (tx, found) => {
      check(found);
      const { config = {} } = edit;
      const url = this.requireEndpoint(account, found.access, path.id, config, within);
      const { secret } = await changeHook(
        tx,
        this.queue,
        this.atHand(account, found.access, found.hook),
        {
          url,
          events: eventsAfter(found.hook, edit),
          filters: edit.filters,
          active: edit.active,
          githubSignature: config.github_signature,
          insecureSsl: config.insecure_ssl,
          rateLimit: config.rate_limit,
          headers: config.headers,
          secret: config.secret ?? undefined,
        },
      );
      return secret;
    });
  }

  /** Gives a hook a new secret; the one before signs too until the overlap ends. */
  async rotateSecret(
    account: Account,
    path: HookPath,
    { secret = null, overlap_hours: overlapHours }: SecretRotation,
    check: HookCheck,
  ): Promise<EditedHook> {
    return this.change(account, path, '', async (tx, found) => {
      check(found);
      this.requireEndpoint(account, found.access, path.id, { secret }, '');
      const at = this.atHand(account, found.access, found.hook);
      return rotateHookSecret(tx, at, { secret, overlapHours });
    });
  }

  /** Keeps what is sent to a hook; a hold that is there stays as it is. */
  async pause(account: Account, path: HookPath): Promise<FoundHook> {
    return this.change(account, path, '', async (tx, { access, hook }) => {
      const sql = sqlOf(tx);
      if (await pauseHook(sql, this.queue, hook.id)) {
        await auditHook(sql, this.atHand(account, access, hook), 'hook.paused');
      }
      return null;
    });
  }

  /** Sends what a held hook kept, or discards it; nothing when it is not held. */
  async resume(account: Account, path: HookPath, kept: KeptChoice): Promise<FoundHook> {
    let found: FoundHook | undefined;
    await resumeInSteps(async () => {
      let done: Resumed | null = null;
      found = await this.change(account, path, '', async (tx, { access, hook }) => {
        const sql = sqlOf(tx);
        done = await resumeHook(sql, this.queue, hook.id, 'account', kept);
        if (done !== null) await auditResumed(sql, this.atHand(account, access, hook), done, kept);
        return null;
      });
      return done;
    });
    return found ?? this.find(account, path);
  }

  /**
   * Deletes a hook; what waits for it is sent no more, and cancelled behind. The lock on the repository waits
   * for pages of fan-out that still saw the hook, so that none enqueues for it afterwards.
   */
  async remove(account: Account, path: HookPath, check: HookCheck): Promise<void> {
    await inTransaction(this.pool, async (tx) => {
      const access = await lockAccess(tx, account, path, 'admin');
      const found = await lockHook(tx, access, path);
      check(found);
      await tx.delete(schema.hook).where(eq(schema.hook.id, path.id));
      const at = this.atHand(account, access, found.hook);
      await auditHook(sqlOf(tx), at, 'hook.removed', { before: shownOf(found.hook) });
      await this.queue.cancelLater(sqlOf(tx), [{ hookId: path.id }], 'hook_deleted');
    });
    this.cancelling.wake();
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
    within: Within,
  ): string | undefined {
    const ids = { accountId: account.id, repositoryId: repository.id, hookId };
    return requireEndpoint(config, this.settings.addressPolicy, within, (refusal) =>
      this.logger.info({ event: 'hook.refused', ...ids, ...refusal }),
    );
  }

  private atHand(account: Account, access: RepositoryAccess, hook: HookRow): HookAtHand {
    const repository = { id: access.repository.id, fullName: fullName(access) };
    return { hook, repository, actor: account, ring: this.settings.keyRing };
  }

  /** Changes a locked hook, and tells what it is then. */
  private change(
    account: Account,
    path: HookPath,
    within: Within,
    work: (tx: Transaction, found: FoundHook) => Promise<SetSecret | null>,
  ): Promise<EditedHook> {
    return askedOfHook(within, () =>
      inTransaction(this.pool, async (tx) => {
        const access = await holdAccess(tx, account, path, 'admin');
        const secret = await work(tx, await lockHook(tx, access, path));
        return { ...(await lockHook(tx, access, path)), secret };
      }),
    );
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
    const event = { type: 'ping', repositoryId: repository.id, payload } as const;
    await publishEvent(tx, event, sender.cause);
  }
}

async function insertHook(
  tx: Transaction,
  { repository }: RepositoryAccess,
  { events, filters, active, config }: NewHook,
  url: string,
): Promise<HookRow> {
  const [hook] = await tx
    .insert(schema.hook)
    .values({
      repositoryId: repository.id,
      url,
      events,
      filters,
      active,
      githubSignature: config.github_signature,
      insecureSsl: config.insecure_ssl,
      rateLimit: config.rate_limit,
    })
    .returning();
  if (hook === undefined) throw new Error('The insert of a hook returned no row');
  return hook;
}

/** @throws ApiError 422 when no event would be left */
function eventsAfter(before: HookRow, edit: AnyHookEdit): string[] {
  const edited = editEvents(before.events, edit);
  if (!edited.ok) throw invalidField(edited.field, edited.code, edited.message);
  return [...edited.events];
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
