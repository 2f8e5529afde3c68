import { nearestName } from './nearest-name.js';
import type { Report } from './settings-error.js';
import {
  defaultOf,
  SETTINGS,
  type Setting,
  type SettingName,
  type ValueOf,
  type Who,
} from './settings-table.js';

const OWN_PREFIX = 'GHOST_';
const NAMES = Object.keys(SETTINGS) as SettingName[];
/** Longer values are cut where a fault shows them. */
const MAX_SHOWN_CHARS = 60;

/** All values once nothing is at fault. */
export type Values = { [N in SettingName]: ValueOf<N> };
/** Null: not set and without a default, or at fault, which is reported. */
export type FoundValues = { [N in SettingName]: ValueOf<N> | null };

/** Parses each setting by itself; blank values count as not set. */
export function readValues(env: NodeJS.ProcessEnv, who: Who, report: Report): FoundValues {
  const values = NAMES.map((name) => [name, readValue(name, env[name], who, report)]);
  return Object.fromEntries(values) as FoundValues;
}

/** A misspelt name would otherwise be a setting that silently does nothing. */
export function reportUnknownNames(env: NodeJS.ProcessEnv, report: Report): void {
  for (const name of Object.keys(env).sort()) {
    if (!name.startsWith(OWN_PREFIX) || Object.hasOwn(SETTINGS, name)) continue;
    const near = nearestName(name, NAMES);
    const remedy = near === null ? 'Remove it' : `Did you mean ${near}? Rename it, or remove it`;
    report(name, 'is no setting of Ghost', remedy);
  }
}

/** `NAME="value"`, or the name alone where the value is a secret or holds credentials. */
export function named(name: SettingName, value: string): string {
  const text = shown(name, value);
  return text === null ? name : `${name}=${text}`;
}

/** A value, or a piece of one, as a fault may show it; null: not at all. */
export function shown(name: SettingName, value: string): string | null {
  if (SETTINGS[name].secret || value === '' || /\/\/[^/\s]*@/.test(value)) return null;
  return JSON.stringify(
    value.length > MAX_SHOWN_CHARS ? `${value.slice(0, MAX_SHOWN_CHARS)}…` : value,
  );
}

/** What to do about a setting, by example. */
export function remedyOf(name: SettingName, who: Who): string {
  const example = SETTINGS[name].example ?? defaultOf(name, who) ?? '';
  return `Write for example ${name}=${example}`;
}

function readValue(
  name: SettingName,
  typed: string | undefined,
  who: Who,
  report: Report,
): unknown {
  const setting: Setting<unknown> = SETTINGS[name];
  const given = typed?.trim() ?? '';
  const text = given === '' ? defaultOf(name, who) : given;
  if (text === null) {
    if (setting.requiredBy.includes(who)) report(name, 'is not set', remedyOf(name, who));
    return null;
  }
  const result = setting.parse(text);
  if (result.ok) return result.value;
  report(named(name, given), result.problem, remedyOf(name, who));
  return null;
}
