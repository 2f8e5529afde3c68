const MAX_LABEL_CHARS = 63; // RFC 1035 §2.3.4
const MAX_NAME_CHARS = 253; // 255 octets on the wire less length byte and root

export type NameFormReason =
  | 'name_malformed'
  | 'name_trailing_dot'
  | 'name_empty_label'
  | 'name_label_too_long'
  | 'name_too_long';

export type NamePolicyReason =
  | 'name_loopback'
  | 'name_metadata'
  | 'name_internal'
  | 'name_single_label';

/** Names of the machine itself (RFC 6761 §6.3, and what Linux puts into /etc/hosts). */
const LOOPBACK_NAMES: ReadonlySet<string> = new Set([
  'localhost',
  'localdomain',
  'localdomain4',
  'localdomain6',
  'ip6-localhost',
  'ip6-loopback',
]);

/** Names under which clouds answer with credentials. Sources: the vendors' pages. */
const METADATA_NAMES: ReadonlySet<string> = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'metadata.azure.com',
  'metadata.tencentyun.com',
  'metadata.platformequinix.com',
  'metadata.packet.net',
  'instance-data',
  'instance-data.ec2.internal',
  'rancher-metadata',
]);

/** Suffixes that no public resolver delegates: RFC 6762 (local and appendix G), 7686, 9476, ICANN's .internal, Kubernetes, Consul; under .arpa no host takes webhooks (home.arpa: RFC 8375). */
const INTERNAL_SUFFIXES: ReadonlySet<string> = new Set([
  'local',
  'internal',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'svc',
  'cluster.local',
  'localnet',
  'intra',
  'workgroup',
  'consul',
  'docker',
  'arpa',
  'onion',
  'alt',
]);

/** What is wrong with the form of a name as a URL holds it (lower case, xn--), or null. */
export function nameFormFault(name: string): NameFormReason | null {
  if (name.endsWith('.')) return 'name_trailing_dot';
  if (name.length > MAX_NAME_CHARS) return 'name_too_long';
  for (const label of name.split('.')) {
    if (label === '') return 'name_empty_label';
    if (label.length > MAX_LABEL_CHARS) return 'name_label_too_long';
    // The URL standard lets through more than DNS hosts use: !$&'()*+,;=~ and quotes.
    if (!/^[a-z0-9_-]+$/.test(label)) return 'name_malformed';
  }
  return null;
}

/** Why no setting lifts this name, or null when it may be lifted. */
export function neverAllowedName(name: string): 'name_loopback' | 'name_metadata' | null {
  if (isOrIsBelow(LOOPBACK_NAMES, name)) return 'name_loopback';
  if (isOrIsBelow(METADATA_NAMES, name)) return 'name_metadata';
  return null;
}

/** Why a name that the operator does not vouch for is refused before any look-up, or null. */
export function internalName(name: string): 'name_internal' | 'name_single_label' | null {
  if (!name.includes('.')) return 'name_single_label';
  return isOrIsBelow(INTERNAL_SUFFIXES, name) ? 'name_internal' : null;
}

/** Looks up the name and each of its parents: this runs for every webhook that is sent. */
function isOrIsBelow(names: ReadonlySet<string>, name: string): boolean {
  for (let start = 0; ; ) {
    if (names.has(name.slice(start))) return true;
    const dot = name.indexOf('.', start);
    if (dot < 0) return false;
    start = dot + 1;
  }
}
