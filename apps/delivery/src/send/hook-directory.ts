import type { Sql } from '@ghost/queue';
import { checkHeader } from '@ghost/policy';
import {
  decrypt,
  hookSecretContext,
  type KeyRing,
  openHookHeaders,
  VaultError,
} from '@ghost/vault';

/** Plaintexts kept of each kind, by row and ciphertext: decryption is cheap, but not thousands of times a second. */
const KEPT = 2_000;

/** An endpoint as it is now, read when its jobs are sent: a mended URL serves queued jobs too. */
export interface Hook {
  id: number;
  url: string;
  active: boolean;
  githubSignature: boolean;
  /** Any certificate is taken (`insecure_ssl`). */
  insecure: boolean;
  /** Its owner's own, names in lower case. */
  headers: readonly (readonly [name: string, value: string])[];
  /** Live secrets in plaintext, newest first; two while rotating. */
  secrets: string[];
}

export type FoundHook =
  | { state: 'ready'; hook: Hook }
  | { state: 'deleted' }
  | { state: 'inactive' }
  /** `code` says why a live secret or the headers do not open; a webhook is never sent unsigned, or without them. */
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
  insecure_ssl: boolean;
  headers_ciphertext: string | null;
  secret_id: string | null;
  ciphertext: string | null;
}

const NO_HEADERS: Hook['headers'] = [];

const FIND = `
  SELECT h.id, h.url, h.active, h.github_signature, h.insecure_ssl, h.headers_ciphertext, s.id AS secret_id, s.ciphertext
  FROM hook h
  LEFT JOIN hook_secret s ON s.hook_id = h.id AND (s.expires_at IS NULL OR s.expires_at > now())
  WHERE h.id = ANY ($1::bigint[])
  ORDER BY h.id, s.created_at DESC, s.id DESC`;

export function createHookDirectory(sql: Sql, keys: KeyRing): HookDirectory {
  const open: Opener = { secret: secretOpener(keys), headers: headersOpener(keys) };
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

interface Opener {
  secret: (row: Row) => string;
  headers: (row: Row) => Hook['headers'];
}

function readHook(id: number, rows: Row[], open: Opener): FoundHook {
  const [first] = rows;
  if (!first) return { state: 'deleted' };
  if (!first.active) return { state: 'inactive' };
  const sealed = rows.filter((row) => row.ciphertext !== null);
  if (sealed.length === 0) return { state: 'unreadable', code: 'no_secret' };
  try {
    const secrets = sealed.map(open.secret);
    const { url, github_signature: githubSignature, insecure_ssl: insecure } = first;
    const headers = open.headers(first);
    const hook: Hook = { id, url, active: true, githubSignature, insecure, headers, secrets };
    return { state: 'ready', hook };
  } catch (error) {
    if (error instanceof VaultError) return { state: 'unreadable', code: error.code };
    throw error;
  }
}

function secretOpener(keys: KeyRing): Opener['secret'] {
  const opened = new Map<string, string>();
  return (row) => {
    const ciphertext = row.ciphertext ?? '';
    return onceFor(opened, `${row.secret_id} ${ciphertext}`, () =>
      decrypt(keys, ciphertext, hookSecretContext(row.id)),
    );
  };
}

function headersOpener(keys: KeyRing): Opener['headers'] {
  const opened = new Map<string, Hook['headers']>();
  return ({ id, headers_ciphertext: ciphertext }) => {
    if (ciphertext === null) return NO_HEADERS;
    return onceFor(opened, `${id} ${ciphertext}`, () =>
      // What may be sent can have changed since they were saved.
      openHookHeaders(keys, id, ciphertext).filter(([name, value]) => checkHeader(name, value).ok),
    );
  };
}

/** Keeps what was made for a key; the oldest is forgotten. */
function onceFor<T>(kept: Map<string, T>, key: string, make: () => T): T {
  const known = kept.get(key);
  if (known !== undefined) return known;
  const made = make();
  if (kept.size >= KEPT) {
    const [oldest] = kept.keys();
    if (oldest !== undefined) kept.delete(oldest);
  }
  kept.set(key, made);
  return made;
}
