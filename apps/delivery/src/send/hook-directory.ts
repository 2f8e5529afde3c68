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

/** Reads what `hook_targets` said of a claim's hooks. One that it does not name is deleted. */
export type HookDirectory = (targets: unknown) => Map<number, FoundHook>;

/** As `hook_targets` of the database says it: of each hook a row a live secret, or one without. */
type Row = [
  id: number,
  url: string,
  active: boolean,
  githubSignature: boolean,
  insecureSsl: boolean,
  headersCiphertext: string | null,
  secretId: number | null,
  ciphertext: string | null,
];

const NO_HEADERS: Hook['headers'] = [];

export function createHookDirectory(keys: KeyRing): HookDirectory {
  const open: Opener = { secret: secretOpener(keys), headers: headersOpener(keys) };
  return (targets) => {
    // A queue that was not told to ask: to take all hooks for deleted would cancel their jobs.
    if (!Array.isArray(targets)) throw new TypeError('The claim brought nothing of its hooks');
    const byHook = new Map<number, Row[]>();
    for (const row of targets as readonly Row[]) {
      const [id] = row;
      const others = byHook.get(id);
      if (others) others.push(row);
      else byHook.set(id, [row]);
    }
    const found = new Map<number, FoundHook>();
    for (const [id, ofHook] of byHook) found.set(id, readHook(id, newestFirst(ofHook), open));
    return found;
  };
}

interface Opener {
  secret: (row: Row) => string;
  headers: (row: Row) => Hook['headers'];
}

/** Secrets are numbered as they are made: sorted here, as the database takes longer to begin a sort than to read the rows. */
function newestFirst(rows: Row[]): Row[] {
  return rows.length === 1
    ? rows
    : rows.sort(([, , , , , , a], [, , , , , , b]) => (b ?? 0) - (a ?? 0));
}

function readHook(id: number, rows: Row[], open: Opener): FoundHook {
  const [first] = rows;
  if (!first) return { state: 'deleted' };
  const [, url, active, githubSignature, insecure] = first;
  if (!active) return { state: 'inactive' };
  const sealed = rows.filter(([, , , , , , , ciphertext]) => ciphertext !== null);
  if (sealed.length === 0) return { state: 'unreadable', code: 'no_secret' };
  try {
    const secrets = sealed.map(open.secret);
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
  return ([id, , , , , , secretId, sealed]) => {
    const ciphertext = sealed ?? '';
    return onceFor(opened, `${secretId} ${ciphertext}`, () =>
      decrypt(keys, ciphertext, hookSecretContext(id)),
    );
  };
}

function headersOpener(keys: KeyRing): Opener['headers'] {
  const opened = new Map<string, Hook['headers']>();
  return ([id, , , , , ciphertext]) => {
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
