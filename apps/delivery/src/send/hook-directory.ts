import type { Sql } from '@ghost/queue';
import { decrypt, hookSecretContext, type KeyRing, VaultError } from '@ghost/vault';

/** Plaintexts kept, by row and ciphertext: decryption is cheap, but not thousands of times a second. */
const KEPT_SECRETS = 2_000;

/** An endpoint as it is now, read when its jobs are sent: a mended URL serves queued jobs too. */
export interface Hook {
  id: number;
  url: string;
  active: boolean;
  githubSignature: boolean;
  /** Live secrets in plaintext, newest first; two while rotating. */
  secrets: string[];
}

export type FoundHook =
  | { state: 'ready'; hook: Hook }
  | { state: 'deleted' }
  | { state: 'inactive' }
  /** `code` says why no live secret opens; a webhook is never sent unsigned. */
  | { state: 'unreadable'; code: string };

export interface HookDirectory {
  /** One query for all hooks of a claimed batch. */
  find(hookIds: readonly number[]): Promise<Map<number, FoundHook>>;
}

interface Row {
  id: string;
  url: string;
  active: boolean;
  github_signature: boolean;
  secret_id: string | null;
  ciphertext: string | null;
}

const FIND = `
  SELECT h.id, h.url, h.active, h.github_signature, s.id AS secret_id, s.ciphertext
  FROM hook h
  LEFT JOIN hook_secret s ON s.hook_id = h.id AND (s.expires_at IS NULL OR s.expires_at > now())
  WHERE h.id = ANY ($1::bigint[])
  ORDER BY h.id, s.created_at DESC, s.id DESC`;

export function createHookDirectory(sql: Sql, keys: KeyRing): HookDirectory {
  const open = secretOpener(keys);
  return {
    async find(hookIds) {
      const found = new Map<number, FoundHook>(hookIds.map((id) => [id, { state: 'deleted' }]));
      if (hookIds.length === 0) return found;
      const rows = await sql.query<Row>(FIND, [hookIds]);
      const byHook = new Map<number, Row[]>();
      for (const row of rows) {
        const id = Number(row.id);
        byHook.set(id, [...(byHook.get(id) ?? []), row]);
      }
      for (const [id, ofHook] of byHook) found.set(id, readHook(id, ofHook, open));
      return found;
    },
  };
}

function readHook(id: number, rows: Row[], open: (row: Row) => string): FoundHook {
  const [first] = rows;
  if (!first) return { state: 'deleted' };
  if (!first.active) return { state: 'inactive' };
  const sealed = rows.filter((row) => row.ciphertext !== null);
  if (sealed.length === 0) return { state: 'unreadable', code: 'no_secret' };
  try {
    const secrets = sealed.map(open);
    const { url, github_signature: githubSignature } = first;
    return { state: 'ready', hook: { id, url, active: true, githubSignature, secrets } };
  } catch (error) {
    if (error instanceof VaultError) return { state: 'unreadable', code: error.code };
    throw error;
  }
}

function secretOpener(keys: KeyRing): (row: Row) => string {
  const opened = new Map<string, string>();
  return (row) => {
    const ciphertext = row.ciphertext ?? '';
    const key = `${row.secret_id} ${ciphertext}`;
    const known = opened.get(key);
    if (known !== undefined) return known;
    const secret = decrypt(keys, ciphertext, hookSecretContext(row.id));
    if (opened.size >= KEPT_SECRETS) {
      const [oldest] = opened.keys();
      if (oldest !== undefined) opened.delete(oldest);
    }
    opened.set(key, secret);
    return secret;
  };
}
