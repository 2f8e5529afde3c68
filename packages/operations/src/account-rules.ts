// The bounds of RFC 5321, 4.5.3.1: a local part of 64 octets, a path of 256 with its angle brackets.
const MAX_LOCAL_PART = 64;
const MAX_ADDRESS = 254;
const MAX_LABEL = 63;
const MAX_NAME_CHARACTERS = 255;
// The form that the table's CHECK holds, as GitHub's logins.
const LOGIN = /^[A-Za-z0-9][A-Za-z0-9-]{0,38}$/u;
// RFC 5322 dot-atom: quoted local parts exist on paper and break relays.
const LOCAL_PART = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/u;
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/u;
const CONTROL = /\p{Cc}/u;

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
  return null;
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
