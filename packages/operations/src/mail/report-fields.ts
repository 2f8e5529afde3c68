/** Fields by name in lower case; of one that stands twice the first. */
export type Fields = ReadonlyMap<string, string>;

const MOST_GROUPS = 100;

/** Groups of header-like fields, parted by empty lines (RFC 3464, section 2.1.2); folded lines are one. */
export function fieldGroups(text: string): Fields[] {
  return text
    .replaceAll('\r\n', '\n')
    .split(/\n[ \t]*\n/u, MOST_GROUPS)
    .map(fieldsOf)
    .filter(({ size }) => size > 0);
}

function fieldsOf(group: string): Fields {
  const fields = new Map<string, string>();
  for (const line of group.replaceAll(/\n[ \t]+/gu, ' ').split('\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    if (name !== '' && !fields.has(name)) fields.set(name, line.slice(colon + 1).trim());
  }
  return fields;
}
