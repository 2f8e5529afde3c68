import { entityTag } from '../http/entity-tag.js';
import {
  type FoundHook,
  type HookAnswer,
  type HookViewSettings,
  hookConfigView,
  hookView,
  type LockedHook,
  settingsView,
} from './hook-view.js';

const BOTH_PARTS = /"([\w-]+)\.[\w-]+"/gu;

/**
 * What people set of a hook, and two edits compete for. Secrets and the values of headers show as masks: the
 * newest row of the ones and the seal of the others tell of them.
 */
export function hookSettings(settings: HookViewSettings, found: LockedHook) {
  return { ...settingsView(settings, found), ...hidden(found) };
}

/**
 * The entity tag of a hook, in two parts: of what people set, and of what became of it. Each delivery
 * changes the second, which an edit must not take for a change by somebody else.
 */
export function hookTag(settings: HookViewSettings, found: FoundHook): string {
  const part = (value: unknown) => entityTag(JSON.stringify(value)).slice(1, -1);
  const view: HookAnswer = hookView(settings, found);
  const became = [view.last_response, view.held, view.failing_since, view.secret_rotation];
  return `"${part(hookSettings(settings, found))}.${part(became)}"`;
}

/** Of tags in `If-Match` the part that {@link hookSettings} made. */
export function settingsPart(header: string): string {
  return header.replaceAll(BOTH_PARTS, '"$1"');
}

/** What the tag of a hook's config is made of. */
export function hookConfigState(found: LockedHook) {
  return { config: hookConfigView(found.hook), ...hidden(found) };
}

function hidden({ hook, liveSecrets }: LockedHook) {
  // The newest: each setting of a secret makes a row, and that an older one ends by itself is no edit.
  return { secret: liveSecrets.split(',').at(-1), headers: hook.headersCiphertext };
}
