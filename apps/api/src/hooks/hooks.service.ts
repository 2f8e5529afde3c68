import {
  type Database,
  inTransaction,
  type Pool,
  publishEvent,
  schema,
  type Transaction,
} from '@ghost/db';
import { checkSecret, checkUrl, explainRefusal, GENERIC_REFUSAL } from '@ghost/policy';
import { type Queue, sqlOf } from '@ghost/queue';
import type { Settings } from '@ghost/settings';
import { generateSecret } from '@ghost/signing';
import { encrypt, hookSecretContext } from '@ghost/vault';
import { Inject, Injectable } from '@nestjs/common';
import { and, asc, count, eq, sql } from 'drizzle-orm';
import type { Logger } from 'pino';

import type { Account } from '../accounts/current-account.js';
import { DATABASE, LOGGER, POOL, QUEUE, SETTINGS } from '../database/tokens.js';
import { type FieldError, invalidField, notFound, validationFailed } from '../http/api-error.js';
import { type RepositoryAccess, requireAccess } from '../repositories/repository-access.js';
import type { RepositoryPath } from '../repositories/repository-path.js';
import { actorSnapshot, hookSnapshot, repositorySnapshot } from '../snapshots.js';
import type { HookPath, NewHook } from './hook-schemas.js';
import type { HookRow } from './hook-view.js';

/** GitHub's bound, an event type; here for a repository, as each event is a job for each hook. */
const MAX_HOOKS = 20;
const ZEN = 'Nothing committed is lost.';

export interface MadeHook {
  access: RepositoryAccess;
  hook: HookRow;
  /** The secret that was generated, shown once; null when the asker brought one. */
  generatedSecret: string | null;
}

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
    const url = this.requireEndpoint(wanted);
    const given = wanted.config.secret ?? null;
    const generatedSecret = given === null ? generateSecret() : null;
    const secret = given ?? generatedSecret ?? '';
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
      await tx.insert(schema.hookSecret).values({
        hookId: made.id,
        ciphertext: encrypt(this.settings.keyRing, secret, hookSecretContext(made.id)),
      });
      await this.publishPing(tx, access, account, made);
      return made;
    });
    return { access, hook, generatedSecret };
  }

  async list(account: Account, path: RepositoryPath) {
    const access = await requireAccess(this.db, account, path, 'admin');
    const hooks = await this.db
      .select()
      .from(schema.hook)
      .where(eq(schema.hook.repositoryId, access.repository.id))
      .orderBy(asc(schema.hook.id));
    return { access, hooks };
  }

  async find(account: Account, path: HookPath) {
    const access = await requireAccess(this.db, account, path, 'admin');
    const [hook] = await this.db.select().from(schema.hook).where(isHook(access, path));
    if (hook === undefined) throw notFound();
    return { access, hook };
  }

  /**
   * Deletes a hook and cancels what waits for it. The lock on the repository waits for pages of
   * fan-out that still saw the hook, so that none enqueues for it afterwards.
   */
  async remove(account: Account, path: HookPath): Promise<void> {
    const access = await requireAccess(this.db, account, path, 'admin');
    await inTransaction(this.pool, async (tx) => {
      await tx
        .select({ id: schema.repository.id })
        .from(schema.repository)
        .where(eq(schema.repository.id, access.repository.id))
        .for('update');
      const removed = await tx
        .delete(schema.hook)
        .where(isHook(access, path))
        .returning({ id: schema.hook.id });
      if (removed.length === 0) throw notFound();
      await this.queue.cancel(sqlOf(tx), { hookId: path.id }, 'hook_deleted');
    });
  }

  /** @returns the URL as it is stored and dialed */
  private requireEndpoint({ config }: NewHook): string {
    const errors: FieldError[] = [];
    const url = checkUrl(config.url, this.settings.addressPolicy);
    if (!url.ok) {
      const refused = url.message === GENERIC_REFUSAL;
      // The owner gets one sentence for every refused address; the reason is for the operator.
      if (refused) {
        const { what, setting } = explainRefusal(url.reason);
        this.logger.info({ event: 'hook.refused', reason: url.reason, what, setting });
      }
      const code = refused ? 'url_not_allowed' : 'invalid';
      errors.push({ field: 'config.url', code, message: url.message });
    }
    if (typeof config.secret === 'string') {
      const secret = checkSecret(config.secret);
      if (!secret.ok) {
        errors.push({ field: 'config.secret', code: secret.reason, message: secret.message });
      }
    }
    if (!url.ok || errors.length > 0) throw validationFailed(errors);
    return url.url;
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

/** Two at once must not both see the last free place; the lock is no row's, so fan-out never waits for it. */
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
