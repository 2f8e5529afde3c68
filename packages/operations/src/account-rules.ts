import { API_SCOPES } from '@ghost/db';

// The bounds of RFC 5321, 4.5.3.1: a local part of 64 octets, a path of 256 with its angle brackets.
const MAX_LOCAL_PART = 64;
const MAX_ADDRESS = 254;
const MAX_LABEL = 63;
const MAX_NAME_CHARACTERS = 255;
const MAX_TOKEN_LABEL_CHARACTERS = 100;
// ISO 8601, and so every answer, has four digits for a year; Postgres reads no fifth.
const LATEST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
// The form that the table's CHECK holds, as GitHub's logins.
const LOGIN = /^[A-Za-z0-9][A-Za-z0-9-]{0,38}$/u;
// RFC 5322 dot-atom: quoted local parts exist on paper and break relays.
const LOCAL_PART = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/u;
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/u;
const CONTROL = /\p{Cc}/u;
// Line and paragraph separators are line ends to some programs.
const LINE_END = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** @returns what is wrong with a login, or null */
export function checkLogin(login: string): string | null {
  if (LOGIN.test(login)) return null;
  return `${JSON.stringify(login)} is no login: use 1 to 39 letters, digits and dashes, the first a letter or digit.`;
}

/** @returns what is wrong with a mail address, or null */
export function checkEmail(email: string): string | null {
  const at = email.lastIndexOf('@');
  if (at < 1 || at === email.length - 1) {
    return `${JSON.stringify(email)} is no mail address: it must have the form name@domain.`;
  }
  const local = email.slice(0, at);
  const domain = email.slice(at + 1);
  if (email.length > MAX_ADDRESS || local.length > MAX_LOCAL_PART) {
    return `The mail address is too long: at most ${MAX_LOCAL_PART} characters before the "@" and ${MAX_ADDRESS} in all.`;
  }
  if (!LOCAL_PART.test(local)) {
    return `${JSON.stringify(email)} is no mail address: before the "@" only ASCII letters, digits, dots and !#$%&'*+/=?^_\`{|}~- may stand.`;
  }
  if (!domain.split('.').every((label) => label.length <= MAX_LABEL && LABEL.test(label))) {
    return `${JSON.stringify(email)} is no mail address: "${domain}" is no domain name (write an international one in its xn-- form).`;
  }
  // An address literal without its brackets, and the beginning of an encoded word (RFC 2047, 2): to relays and
  // programs that are lenient they mean something else.
  if (/(?:^|\.)\d+$/u.test(domain) || local.includes('=?')) {
    return `${JSON.stringify(email)} is no mail address: an IP address cannot stand after the "@", nor "=?" before it.`;
  }
  return null;
}

/**
 * What is wrong with a mail address that its account gives, or null: a name without a dot means a machine of
 * the relay's own network, such as `root@localhost`, which an operator may mean and nobody else.
 */
export function checkOwnEmail(email: string): string | null {
  const complaint = checkEmail(email);
  if (complaint !== null || email.slice(email.lastIndexOf('@')).includes('.')) return complaint;
  return `${JSON.stringify(email)} is no mail address: after the "@" a whole domain must stand, such as example.com.`;
}

/** @returns what is wrong with a person's name, or null */
export function checkName(name: string): string | null {
  if (name.trim() === '') return 'The name is empty.';
  if ([...name].length > MAX_NAME_CHARACTERS) {
    return `The name is too long: at most ${MAX_NAME_CHARACTERS} characters.`;
  }
  // It becomes a mail header: a line break would end it.
  if (CONTROL.test(name)) return 'The name has control characters, such as a line break.';
  if (!name.isWellFormed()) return 'The name is no valid Unicode text.';
  return null;
}

/** @returns what is wrong with a token's label, or null */
export function checkLabel(label: string): string | null {
  if (label.trim() === '') return 'The label is empty: say what the token is for.';
  if ([...label].length > MAX_TOKEN_LABEL_CHARACTERS) {
    return `The label is too long: at most ${MAX_TOKEN_LABEL_CHARACTERS} characters.`;
  }
  if (LINE_END.test(label)) return 'The label has a line break or another control character.';
  if (!label.isWellFormed()) return 'The label is no valid Unicode text.';
  return null;
}

/** @returns what is wrong with the scopes of a token, or null */
export function checkScopes(scopes: readonly string[]): string | null {
  const known: readonly string[] = API_SCOPES;
  const choice = `Choose from ${API_SCOPES.join(', ')}.`;
  if (scopes.length === 0) return `A token needs a scope at least. ${choice}`;
  const unknown = scopes.find((scope) => !known.includes(scope));
  if (unknown !== undefined) return `There is no scope ${JSON.stringify(unknown)}. ${choice}`;
  if (new Set(scopes).size < scopes.length) return 'A scope is named twice.';
  return null;
}

/** @returns what is wrong with the time at which a token ends (null: never), or null */
export function checkExpiry(expiresAt: Date | null, now: Date): string | null {
  if (expiresAt === null) return null;
  if (Number.isNaN(expiresAt.getTime())) return 'The end is no time.';
  if (expiresAt.getTime() > LATEST_MS) return 'The end is too far off: name a year up to 9999.';
  if (expiresAt <= now) return `The end ${expiresAt.toISOString()} is not in the future.`;
  return null;
}
