import { API_SCOPES, type Pool } from '@ghost/db';
import { addAccount, addToken, loginOfToken } from '@ghost/operations';

import type { ApiClient } from './api-client.js';
import {
  type DemoHook,
  type DemoRepository,
  OWNER,
  PEOPLE,
  type Person,
  REPOSITORIES,
} from './demo-people.js';
import type { DemoStateFile } from './demo-state.js';

const NEW_TOKEN = { label: 'playground', scopes: API_SCOPES, expiresAt: null, actor: null };
const FIRST_THREAD = {
  title: 'Does one comment reach everyone? 🚀',
  body: 'Post a comment here and watch the mails and webhooks that it becomes.',
};

export interface ReadyHook extends DemoHook {
  id: number;
}

export interface ReadyRepository extends Omit<DemoRepository, 'hooks'> {
  id: number;
  hooks: readonly ReadyHook[];
  /** The number of its first thread. */
  thread: number;
}

export interface DemoData {
  tokenOf(login: string): string;
  repositories: readonly ReadyRepository[];
}

export interface DemoOptions {
  pool: Pool;
  api: ApiClient;
  file: DemoStateFile;
  receiverUrl: string;
}

/** The paths of the demo's hooks at the receiver. */
export const HOOK_PATHS: readonly string[] = REPOSITORIES.flatMap(({ hooks }) =>
  hooks.map((hook) => hookPath(hook.name)),
);

/** The path of a demo hook at the receiver, and the way back. */
function hookPath(name: string): string {
  return `/hooks/${name}`;
}

export function hookNameOf(path: string): string | undefined {
  return /^\/hooks\/([a-z-]+)$/u.exec(path)?.[1];
}

/**
 * Makes what the demo needs and is not there yet: accounts by the operator's way, the rest through
 * the API, as a client would. Running it again changes nothing.
 */
export async function prepareDemo(options: DemoOptions): Promise<DemoData> {
  const { file } = options;
  for (const person of PEOPLE) await ensureAccount(options, person);
  await file.save();
  const repositories: ReadyRepository[] = [];
  for (const repository of REPOSITORIES) repositories.push(await ensureAll(options, repository));
  await file.save();
  return { tokenOf: (login) => tokenOf(options, login), repositories };
}

function tokenOf({ file }: DemoOptions, login: string): string {
  const token = file.state.tokens[login];
  if (token === undefined) throw new Error(`The demo has no token of ${login}.`);
  return token;
}

async function ensureAccount({ pool, file }: DemoOptions, person: Person): Promise<void> {
  const { tokens } = file.state;
  const kept = tokens[person.login];
  if (kept !== undefined && (await loginOfToken(pool, kept)) === person.login) return;
  const { rowCount } = await pool.query('SELECT FROM account WHERE lower(login) = lower($1)', [
    person.login,
  ]);
  tokens[person.login] = rowCount
    ? (await addToken(pool, { ...NEW_TOKEN, login: person.login })).token
    : (await addAccount(pool, person)).token;
}

async function ensureAll(
  options: DemoOptions,
  repository: DemoRepository,
): Promise<ReadyRepository> {
  const { api } = options;
  const base = `/repos/${OWNER}/${repository.name}`;
  const owner = tokenOf(options, OWNER);
  const id = await ensureRepository(options, repository);
  for (const login of await withoutRow(options, 'member', id, repository.members)) {
    await api.call('PUT', `${base}/collaborators/${login}`, owner);
  }
  await ensureWatching(options, repository, base, id);
  const hooks: ReadyHook[] = [];
  for (const hook of repository.hooks) hooks.push(await ensureHook(options, base, id, hook));
  return { ...repository, id, hooks, thread: await ensureThread(options, base, id) };
}

/** Only once: what a person chooses afterwards stays. */
async function ensureWatching(
  options: DemoOptions,
  { watchers, ignoring }: DemoRepository,
  base: string,
  id: number,
): Promise<void> {
  const { api, file } = options;
  if (file.state.watched.includes(id)) return;
  for (const login of await withoutRow(options, 'watch', id, [...watchers, ...ignoring])) {
    const wanted = ignoring.includes(login) ? { ignored: true } : { subscribed: true };
    await api.call('PUT', `${base}/subscription`, tokenOf(options, login), wanted);
  }
  file.state.watched.push(id);
  await file.save();
}

/** Those of some people who have no row for a repository. */
async function withoutRow(
  { pool }: DemoOptions,
  table: 'member' | 'watch',
  repositoryId: number,
  logins: readonly string[],
): Promise<string[]> {
  const { rows } = await pool.query<{ login: string }>(
    `SELECT lower(a.login) AS login FROM account a JOIN ${table} t ON t.account_id = a.id
     WHERE t.repository_id = $1 AND lower(a.login) = ANY ($2)`,
    [repositoryId, logins],
  );
  return logins.filter((login) => !rows.some((row) => row.login === login));
}

async function ensureRepository(options: DemoOptions, repository: DemoRepository): Promise<number> {
  const { rows } = await options.pool.query<{ id: string }>(
    `SELECT r.id FROM repository r JOIN account a ON a.id = r.owner_id
     WHERE lower(a.login) = $1 AND lower(r.name) = $2`,
    [OWNER, repository.name],
  );
  if (rows[0]) return Number(rows[0].id);
  const made = await options.api.call('POST', '/user/repos', tokenOf(options, OWNER), {
    name: repository.name,
    private: repository.private,
    description: 'Made by the playground',
  });
  return numberIn(made, 'id');
}

/** The receiver may listen on another port than last time: the hook then follows it. */
async function ensureHook(
  options: DemoOptions,
  base: string,
  repositoryId: number,
  hook: DemoHook,
): Promise<ReadyHook> {
  const { pool, api, file } = options;
  const url = `${options.receiverUrl}${hookPath(hook.name)}`;
  const known = file.state.secrets[hook.name] !== undefined;
  const { rows } = await pool.query<{ id: string; url: string }>(
    `SELECT id, url FROM hook WHERE repository_id = $1 AND url LIKE 'http://127.0.0.1:%/hooks/' || $2 ORDER BY id`,
    [repositoryId, hook.name],
  );
  const found = rows[0];
  if (found && known) {
    if (found.url !== url) {
      await pool.query('UPDATE hook SET url = $2, updated_at = now() WHERE id = $1', [
        found.id,
        url,
      ]);
    }
    return { ...hook, id: Number(found.id) };
  }
  const owner = tokenOf(options, OWNER);
  // Its secret was lost with the demo's file: nobody could verify what it gets.
  for (const row of rows) await api.call('DELETE', `${base}/hooks/${row.id}`, owner);
  const secret = file.secretOf(hook.name);
  await file.save();
  const made = await api.call('POST', `${base}/hooks`, owner, {
    name: 'web',
    active: true,
    events: hook.events,
    config: { url, content_type: 'json', secret },
  });
  return { ...hook, id: numberIn(made, 'id') };
}

async function ensureThread(
  options: DemoOptions,
  base: string,
  repositoryId: number,
): Promise<number> {
  const { rows } = await options.pool.query<{ number: string }>(
    'SELECT number FROM thread WHERE repository_id = $1 ORDER BY number LIMIT 1',
    [repositoryId],
  );
  if (rows[0]) return Number(rows[0].number);
  const made = await options.api.call(
    'POST',
    `${base}/threads`,
    tokenOf(options, OWNER),
    FIRST_THREAD,
  );
  return numberIn(made, 'number');
}

/** A number of an answer of the API. */
export function numberIn(answer: unknown, field: string): number {
  const value: unknown = Object(answer)[field];
  if (typeof value !== 'number') throw new Error(`The API's answer has no number "${field}".`);
  return value;
}
