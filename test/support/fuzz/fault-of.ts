import type { BadRequest } from './bad-request.js';
import type { FuzzWorld, Json } from './fuzz-world.js';

const MAX_SHOWN_CHARS = 300;

/** Sends a request that is wrong on purpose; returns what is wrong with its answer, or null. */
export async function faultOf(world: FuzzWorld, bad: BadRequest): Promise<string | null> {
  try {
    const { status, headers, text } = await world.send(bad.request);
    const shown = `${status} ${text.slice(0, MAX_SHOWN_CHARS)}`;
    if (!bad.status.includes(status)) return `${shown}, not ${bad.status.join(' or ')}`;
    if (!(headers.get('content-type') ?? '').startsWith('application/json')) return null;
    const body: Json = JSON.parse(text);
    if (typeof body.code !== 'string' || typeof body.message !== 'string') return shown;
    if (bad.code !== undefined && body.code !== bad.code) return `${shown}, not ${bad.code}`;
    if (bad.field !== undefined && !namesField(body.errors, bad.field)) {
      return `${shown} does not name "${bad.field}"`;
    }
    return null;
  } catch (error) {
    return String(error);
  }
}

function namesField(errors: Json, field: string): boolean {
  return (errors ?? []).some(
    ({ field: named }: { field: string }) => named === field || named.startsWith(`${field}.`),
  );
}
