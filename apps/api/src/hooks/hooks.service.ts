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
import { eq } from 'drizzle-orm';
import type { Logger } from 'pino';

import type { Account } from '../accounts/current-account.js';
import { CancellingService } from '../cancelling/cancelling.service.js';
import { DATABASE, LOGGER, POOL, QUEUE, SETTINGS } from '../database/tokens.js';
import { invalidField } from '../http/api-error.js';
import type { Page } from '../http/page.js';
import { auditedRepository } from '../repositories/audit-access.js';
import {
  holdAccess,
  lockAccess,
  type RepositoryAccess,
} from '../repositories/repository-access.js';
import type { RepositoryPath } from '../repositories/repository-path.js';
import { actorSnapshot, hookSnapshot, repositorySnapshot } from '../snapshots.js';
import { editEvents } from './hook-events.js';
import { askedOfHook, requireEndpoint, type Within } from './hook-fault.js';
import { NO_LANE, NOTHING_KEPT } from './hook-lane.js';
import { findHook, listHooks, lockHook, readHook, readLiveSecrets } from './hook-rows.js';
import type {
  HookConfigEdit,
  HookEdit,
  HookPath,
  NewHook,
  SecretRotation,
} from './hook-schemas.js';
import type { FoundHook, HookRow, LockedHook } from './hook-view.js';
import { insertHook } from './insert-hook.js';

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
export type HookCheck = (current: LockedHook) => void;

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
    return this.change(account, path, within, async (tx, { access, hook }) => {
      await judge(tx, access, hook, check);
      const { config = {} } = edit;
      const url = this.requireEndpoint(account, access, path.id, config, within);
      const { secret } = await changeHook(tx, this.queue, this.atHand(account, access, hook), {
        url,
        events: eventsAfter(hook, edit),
        filters: edit.filters,
        active: edit.active,
        githubSignature: config.github_signature,
        insecureSsl: config.insecure_ssl,
        rateLimit: config.rate_limit,
        headers: config.headers,
        secret: config.secret ?? undefined,
      });
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
    return this.change(account, path, '', async (tx, { access, hook }) => {
      await judge(tx, access, hook, check);
      this.requireEndpoint(account, access, path.id, { secret }, '');
      const at = this.atHand(account, access, hook);
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
      const hook = await lockHook(tx, access, path);
      await judge(tx, access, hook, check);
      await tx.delete(schema.hook).where(eq(schema.hook.id, path.id));
      const at = this.atHand(account, access, hook);
      await auditHook(sqlOf(tx), at, 'hook.removed', { before: shownOf(hook) });
      await this.queue.cancelLater(sqlOf(tx), [{ hookId: path.id }], 'hook_deleted');
    });
    this.cancelling.wake();
  }

  /** Sends a ping to one hook alone. */
  async ping(account: Account, path: HookPath): Promise<void> {
    await inTransaction(this.pool, async (tx) => {
      const access = await holdAccess(tx, account, path, 'admin');
      const hook = await lockHook(tx, access, path);
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
    return {
      hook,
      repository: auditedRepository(access),
      actor: account,
      ring: this.settings.keyRing,
    };
  }

  /** Changes a locked hook, and tells what it is then. */
  private change(
    account: Account,
    path: HookPath,
    within: Within,
    work: (tx: Transaction, locked: Omit<LockedHook, 'liveSecrets'>) => Promise<SetSecret | null>,
  ): Promise<EditedHook> {
    return askedOfHook(within, () =>
      inTransaction(this.pool, async (tx) => {
        const access = await holdAccess(tx, account, path, 'admin');
        const secret = await work(tx, { access, hook: await lockHook(tx, access, path) });
        return { ...(await readHook(tx, access, path)), secret };
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

async function judge(
  tx: Transaction,
  access: RepositoryAccess,
  hook: HookRow,
  check: HookCheck,
): Promise<void> {
  check({ access, hook, liveSecrets: await readLiveSecrets(tx, hook.id) });
}

/** @throws ApiError 422 when no event would be left */
function eventsAfter(before: HookRow, edit: AnyHookEdit): string[] {
  const edited = editEvents(before.events, edit);
  if (!edited.ok) throw invalidField(edited.field, edited.code, edited.message);
  return [...edited.events];
}
