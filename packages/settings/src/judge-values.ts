import { type AddressPolicy, DEFAULT_POLICY, parseAddressPolicy } from '@ghost/policy';
import { type KeyRing, parseKeyRing } from '@ghost/vault';
import type { Parse } from './parse/parsed.js';
import { certificates, dkimKey } from './parse/pem.js';
import { type FoundValues, named, remedyOf, shown } from './read-values.js';
import type { DkimKey } from './settings.js';
import type { Report } from './settings-error.js';
import type { SettingName, Who } from './settings-table.js';

const POLICY_SETTINGS = {
  allowCidrs: 'GHOST_ALLOW_CIDRS',
  denyCidrs: 'GHOST_DENY_CIDRS',
  allowHosts: 'GHOST_ALLOW_HOSTS',
  ports: 'GHOST_WEBHOOK_PORTS',
} as const;

const DKIM_SETTINGS = ['GHOST_DKIM_DOMAIN', 'GHOST_DKIM_SELECTOR', 'GHOST_DKIM_KEY_FILE'] as const;

/** Returns the text of a file; throws as `readFileSync` does. */
export type ReadFile = (path: string) => string;

export function judgeKeyRing(values: FoundValues, report: Report): KeyRing | null {
  const name = 'GHOST_SECRET_KEYS';
  if (values[name] === null) return null;
  const parsed = parseKeyRing(values[name]);
  if (parsed.ok) return parsed.ring;
  for (const fault of parsed.faults)
    report(name, `is no key ring: ${fault}`, remedyOf(name, 'api'));
  return null;
}

export function judgePolicy(values: FoundValues, report: Report): AddressPolicy {
  const parsed = parseAddressPolicy({
    allowCidrs: values.GHOST_ALLOW_CIDRS ?? undefined,
    denyCidrs: values.GHOST_DENY_CIDRS ?? undefined,
    allowHosts: values.GHOST_ALLOW_HOSTS ?? undefined,
    ports: values.GHOST_WEBHOOK_PORTS ?? undefined,
    allowNat64: values.GHOST_ALLOW_NAT64 ?? undefined,
    httpsOnly: values.GHOST_WEBHOOK_HTTPS_ONLY ?? undefined,
  });
  if (parsed.ok) return parsed.policy;
  for (const { field, entry, message } of parsed.faults) {
    const name = POLICY_SETTINGS[field];
    const which = shown(name, entry);
    const problem = `has an entry${which === null ? '' : ` ${which}`} that ${message}`;
    report(name, problem, remedyOf(name, 'api'));
  }
  return DEFAULT_POLICY;
}

/** The PEM texts of the operator's certificate authorities; empty when none are named. */
export function judgeExtraCa(
  values: FoundValues,
  readFile: ReadFile,
  report: Report,
): readonly string[] {
  return readPem('GHOST_EXTRA_CA_FILE', values, certificates, readFile, report) ?? [];
}

export function judgeDkim(values: FoundValues, readFile: ReadFile, report: Report): DkimKey | null {
  const privateKey = readPem('GHOST_DKIM_KEY_FILE', values, dkimKey, readFile, report);
  const { GHOST_DKIM_DOMAIN: domain, GHOST_DKIM_SELECTOR: selector } = values;
  if (domain === null || selector === null || privateKey === null) return null;
  return { domain, selector, privateKey };
}

/** Settings that are good alone and not together. */
export function reportContradictions(
  env: NodeJS.ProcessEnv,
  values: FoundValues,
  who: Who,
  report: Report,
): void {
  const { GHOST_RETRY_BASE_MS: base, GHOST_RETRY_CAP_MS: cap } = values;
  if (base !== null && cap !== null && cap < base) {
    report(
      'GHOST_RETRY_CAP_MS',
      `is ${cap}, less than GHOST_RETRY_BASE_MS, which is ${base}`,
      'Raise the cap or lower the base',
    );
  }
  if (values.GHOST_SMTP_URL?.secure && values.GHOST_SMTP_TLS === 'off') {
    report(
      'GHOST_SMTP_TLS',
      'is off while GHOST_SMTP_URL asks for TLS by smtps://',
      'Remove it, or use smtp://',
    );
  }
  if (who === 'api' && values.PORT === 0 && !isSet(env, 'GHOST_PUBLIC_URL')) {
    report(
      'GHOST_PUBLIC_URL',
      'is not set while PORT is 0, so links could not name the port',
      remedyOf('GHOST_PUBLIC_URL', who),
    );
  }
  if (who === 'api' && values.GHOST_SMTP_URL !== null && !isSet(env, 'GHOST_MAIL_FROM')) {
    report(
      'GHOST_MAIL_FROM',
      'is not set while GHOST_SMTP_URL is',
      remedyOf('GHOST_MAIL_FROM', who),
    );
  }
  if (DKIM_SETTINGS.some((name) => isSet(env, name))) {
    for (const name of DKIM_SETTINGS.filter((candidate) => !isSet(env, candidate))) {
      report(name, 'is not set while its companions are', remedyOf(name, who));
    }
  }
}

function isSet(env: NodeJS.ProcessEnv, name: SettingName): boolean {
  return (env[name]?.trim() ?? '') !== '';
}

function readPem<T>(
  name: 'GHOST_EXTRA_CA_FILE' | 'GHOST_DKIM_KEY_FILE',
  values: FoundValues,
  parse: Parse<T>,
  readFile: ReadFile,
  report: Report,
): T | null {
  const path = values[name];
  if (path === null) return null;
  try {
    const result = parse(readFile(path));
    if (result.ok) return result.value;
    report(named(name, path), result.problem, 'Give the path of a PEM file');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    report(named(name, path), `names a file that cannot be read${code}`, 'Check it');
  }
  return null;
}
