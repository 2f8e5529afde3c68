import { type KeyRing, openHookHeaders, sealHookHeaders, VaultError } from '@ghost/vault';

import { HookError, refuseHook } from './hook-error.js';
import { faultsOfHeaders, type HeaderChanges } from './judge-hook.js';

/** The custom headers of a hook as they are stored. */
export interface StoredHeaders {
  headerNames: string[];
  headersCiphertext: string | null;
}

/**
 * The custom headers of a hook after a change; null when it changes nothing. Values that stay are
 * opened only when there are any: with a lost key the rest can still be given anew or removed.
 * @throws HookError `headers_unreadable`, or `bad_hook` for too many or too long ones in all
 */
export function changedHeaders(
  ring: KeyRing,
  hookId: number,
  before: StoredHeaders,
  changes: HeaderChanges,
): StoredHeaders | null {
  const given = new Map(
    Object.entries(changes).map(([name, value]) => [name.toLowerCase(), value] as const),
  );
  const removes = before.headerNames.some((name) => given.get(name) === null);
  const sets = [...given.values()].some((value) => value !== null);
  if (!removes && !sets) return null;
  const stay = before.headerNames.filter((name) => !given.has(name));
  const present = stay.length === 0 ? new Map() : new Map(open(ring, hookId, before));
  const headers = [
    ...stay.map((name) => [name, present.get(name) ?? ''] as const),
    ...[...given].flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
  ];
  refuseHook(faultsOfHeaders(headers));
  return {
    headerNames: headers.map(([name]) => name),
    headersCiphertext: headers.length === 0 ? null : sealHookHeaders(ring, hookId, headers),
  };
}

/**
 * Values that are shown to nobody go to nobody else either: whoever may edit a hook could read them at a server of their own.
 * @throws HookError `bad_hook` where the URL leads to another origin, and a value stays
 */
export function refuseHeadersElsewhere(
  before: { url: string; headerNames: readonly string[] },
  url: string | undefined,
  changes: HeaderChanges,
): void {
  if (url === undefined || new URL(url).origin === new URL(before.url).origin) return;
  const given = new Set(Object.keys(changes).map((name) => name.toLowerCase()));
  const stay = before.headerNames.filter((name) => !given.has(name));
  if (stay.length === 0) return;
  const message = `The values of custom headers do not go along to another server. Give or remove with the URL: ${stay.join(', ')}.`;
  refuseHook([{ field: 'headers', code: 'headers_elsewhere', message }]);
}

function open(ring: KeyRing, hookId: number, { headerNames, headersCiphertext }: StoredHeaders) {
  try {
    return openHookHeaders(ring, hookId, headersCiphertext ?? '');
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    const message = `The values that the hook has cannot be read with the keys of this server. Give or remove all of them together: ${headerNames.join(', ')}.`;
    throw new HookError('headers_unreadable', message, [
      { field: 'headers', code: 'headers_unreadable', message },
    ]);
  }
}
