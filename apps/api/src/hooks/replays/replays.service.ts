import { inTransaction, type Pool, schema, type Transaction } from '@ghost/db';
import {
  cancelReplay,
  previewReplay,
  type Replay,
  type ReplayPreview,
  readReplay,
  readReplays,
  startReplay,
} from '@ghost/operations';
import { sqlOf } from '@ghost/queue';
import type { Settings } from '@ghost/settings';
import { Inject, Injectable } from '@nestjs/common';

import type { Account } from '../../accounts/current-account.js';
import { POOL, SETTINGS } from '../../database/tokens.js';
import type { Page } from '../../http/page.js';
import { auditedRepository } from '../../repositories/audit-access.js';
import {
  holdAccess,
  isMembershipOf,
  isOwnerAt,
  isReadableBy,
  isRepositoryAt,
  joinedPermission,
  ONE_ROW,
  OWNER_COLUMNS,
} from '../../repositories/repository-access.js';
import { isHookFor, lockHook, requireHook } from '../hook-rows.js';
import type { HookPath } from '../hook-schemas.js';
import { askedOfReplay, countedInTime } from './replay-fault.js';
import type { AskedReplay, NewReplay, ReplayPath } from './replay-schemas.js';

@Injectable()
export class ReplaysService {
  constructor(
    @Inject(POOL) private readonly pool: Pool,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'retentionDays'>,
  ) {}

  /** What a replay would send again; nothing is changed. */
  async preview(account: Account, path: HookPath, wish: AskedReplay): Promise<ReplayPreview> {
    return this.look(account, path, (tx) =>
      countedInTime(() => previewReplay(sqlOf(tx), path.id, wish, this.settings.retentionDays)),
    );
  }

  /** @throws ApiError 404, 403 and 401 as for any hook; 409 and 422 as {@link askedOfReplay} has it */
  async start(
    account: Account,
    path: HookPath,
    { expected_total: expectedTotal, ...wish }: NewReplay,
  ): Promise<Replay> {
    const { retentionDays } = this.settings;
    return askedOfReplay(() =>
      inTransaction(this.pool, async (tx) => {
        const at = await this.lock(tx, account, path);
        const asked = { ...wish, expectedTotal, retentionDays };
        const id = await countedInTime(() => startReplay(sqlOf(tx), at, asked));
        return readReplay(sqlOf(tx), id);
      }),
    );
  }

  /** One more than the page holds, when there are more. */
  async list(account: Account, path: HookPath, page: Page): Promise<Replay[]> {
    return this.look(account, path, (tx) =>
      readReplays(sqlOf(tx), { hookId: path.id, after: page.after, limit: page.per_page + 1 }),
    );
  }

  async find(account: Account, path: ReplayPath): Promise<Replay> {
    return this.look(account, path, (tx) => readReplay(sqlOf(tx), path.replay_id, path.id));
  }

  async cancel(account: Account, path: ReplayPath): Promise<Replay> {
    return askedOfReplay(() =>
      inTransaction(this.pool, async (tx) => {
        const at = await this.lock(tx, account, path);
        await cancelReplay(sqlOf(tx), at, path.replay_id);
        return readReplay(sqlOf(tx), path.replay_id);
      }),
    );
  }

  private async lock(tx: Transaction, account: Account, path: HookPath) {
    const access = await holdAccess(tx, account, path, 'admin');
    const hook = await lockHook(tx, access, path);
    return { hook, repository: auditedRepository(access), actor: account };
  }

  /** One snapshot for what the asker may do and what they see: who is removed in between sees nothing. */
  private look<T>(
    account: Account,
    path: HookPath,
    read: (tx: Transaction) => Promise<T>,
  ): Promise<T> {
    return askedOfReplay(() =>
      inTransaction(
        this.pool,
        async (tx) => {
          await requireHookAt(tx, account, path);
          return read(tx);
        },
        { readOnly: true },
      ),
    );
  }
}

/** @throws ApiError 404 when the hook is absent or its repository may not be read, 403 for who is no admin */
async function requireHookAt(tx: Transaction, account: Account, path: HookPath): Promise<void> {
  const { repository, hook } = schema;
  const [row] = await tx
    .select({
      repository,
      owner: OWNER_COLUMNS,
      permission: joinedPermission(account),
      hook: { id: hook.id },
    })
    .from(ONE_ROW)
    .leftJoin(schema.account, isOwnerAt(path))
    .leftJoin(repository, isRepositoryAt(path))
    .leftJoin(schema.member, isMembershipOf(account))
    .leftJoin(hook, isHookFor(account, path))
    .where(isReadableBy(account));
  requireHook(row);
}
