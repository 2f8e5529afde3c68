import { entityTag } from '../http/entity-tag.js';
import { type HookAnswer, type HookRow, hookConfigView } from './hook-view.js';

const BOTH_PARTS = /"([\w-]+)\.[\w-]+"/gu;

/** What people set of a hook: what two edits compete for. */
export function hookSettings(view: HookAnswer) {
  return { ...view, last_response: undefined };
}

/**
 * The entity tag of a hook, in two parts: of what people set, and of its last response. Each delivery
 * changes the second, which an edit must not take for a change by somebody else.
 */
export function hookTag(view: HookAnswer): string {
  const part = (value: unknown) => entityTag(JSON.stringify(value)).slice(1, -1);
  return `"${part(hookSettings(view))}.${part(view.last_response)}"`;
}

/** Of tags in `If-Match` the part that {@link hookSettings} made. */
export function settingsPart(header: string): string {
  return header.replaceAll(BOTH_PARTS, '"$1"');
}

/** What the tag of a hook's config is made of: the time tells of a new secret, which shows as its mask. */
export function hookConfigState(hook: HookRow) {
  return { config: hookConfigView(hook), updated_at: hook.updatedAt.toISOString() };
}
