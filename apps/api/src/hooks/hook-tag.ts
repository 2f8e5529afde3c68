import { entityTag } from '../http/entity-tag.js';
import { type FoundHook, type HookAnswer, hookConfigView, hookView } from './hook-view.js';

const BOTH_PARTS = /"([\w-]+)\.[\w-]+"/gu;

/** What people set of a hook, and two edits compete for; a secret shows as its mask, so its rows tell of it. */
export function hookSettings(publicUrl: string, found: FoundHook) {
  return {
    ...hookView(publicUrl, found),
    last_response: undefined,
    secrets: found.liveSecrets,
  };
}

/**
 * The entity tag of a hook, in two parts: of what people set, and of its last response. Each delivery
 * changes the second, which an edit must not take for a change by somebody else.
 */
export function hookTag(publicUrl: string, found: FoundHook): string {
  const part = (value: unknown) => entityTag(JSON.stringify(value)).slice(1, -1);
  const { last_response }: HookAnswer = hookView(publicUrl, found);
  return `"${part(hookSettings(publicUrl, found))}.${part(last_response)}"`;
}

/** Of tags in `If-Match` the part that {@link hookSettings} made. */
export function settingsPart(header: string): string {
  return header.replaceAll(BOTH_PARTS, '"$1"');
}

/** What the tag of a hook's config is made of. */
export function hookConfigState({ hook, liveSecrets }: FoundHook) {
  return { config: hookConfigView(hook), secrets: liveSecrets };
}
