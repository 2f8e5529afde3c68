import { type Cidr, cidr } from './cidr.js';

/** Why an address is refused when no setting of the operator speaks of it. */
export type RangeReason =
  | 'unspecified'
  | 'loopback'
  | 'private'
  | 'cgnat'
  | 'link_local'
  | 'metadata'
  | 'multicast'
  | 'reserved'
  | 'documentation'
  | 'not_global_unicast'
  | 'embedded_ipv4';

export type RefusedRange = { range: Cidr; reason: RangeReason };

function refused(reason: RangeReason, ...ranges: string[]): RefusedRange[] {
  return ranges.map((text) => ({ range: cidr(text), reason }));
}

/**
 * Services that hand out credentials of the machine. Looked at first: some lie inside ranges that
 * GHOST_ALLOW_HOSTS may lift (100.64.0.0/10, fc00::/7). Sources: the vendors' pages.
 */
export const METADATA_RANGES: readonly RefusedRange[] = refused(
  'metadata',
  '169.254.169.254/32', // AWS, GCP, Azure, Oracle, DigitalOcean, Hetzner, OpenStack
  '169.254.170.2/32', // ECS task credentials
  '169.254.170.23/32', // EKS pod identity
  '169.254.42.42/32', // Scaleway
  '169.254.0.23/32', // Tencent
  '100.100.100.200/32', // Alibaba
  '168.63.129.16/32', // Azure WireServer, in public space
  '192.0.0.192/32', // Oracle Cloud Classic
  'fd00:ec2::/32', // AWS: metadata ::254, pod identity ::23, resolver ::253, time ::123
  'fd00:42::42/128', // Scaleway
  'fd20:ce::254/128', // GCP
  'fd00:c1::a9fe:a9fe/128', // Oracle
  'fd00:a9fe:a9fe::1/128', // Linode
);

/** IANA's special-purpose registry (RFC 6890 and later), and what is deprecated or a sink. */
export const IPV4_REFUSED: readonly RefusedRange[] = [
  ...refused('unspecified', '0.0.0.0/8'), // Linux connects 0.0.0.0 to loopback
  ...refused('private', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'),
  ...refused('cgnat', '100.64.0.0/10'),
  ...refused('loopback', '127.0.0.0/8'),
  ...refused('metadata', '168.63.129.16/32'),
  ...refused('link_local', '169.254.0.0/16'),
  ...refused('documentation', '192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'),
  ...refused('multicast', '224.0.0.0/4'),
  ...refused(
    'reserved',
    '192.0.0.0/24', // IETF protocol assignments
    '192.31.196.0/24', // AS112 sinks answer for private reverse zones
    '192.52.193.0/24', // AMT
    '192.88.99.0/24', // 6to4 relays, deprecated
    '192.175.48.0/24', // AS112
    '198.18.0.0/15', // benchmarking
    '240.0.0.0/4',
  ),
];

/** The only IPv6 space that is handed out for the public network (RFC 4291 §2.4, IANA). */
export const IPV6_ALLOWED: Cidr = cidr('2000::/3');

/** Refused inside 2000::/3. The order matters: the embedding ranges come before what holds them. */
export const IPV6_REFUSED: readonly RefusedRange[] = [
  ...refused('embedded_ipv4', '2001::/32', '2002::/16'), // Teredo, 6to4
  ...refused('documentation', '2001:db8::/32', '3fff::/20'),
  ...refused('reserved', '2001::/23', '2620:4f:8000::/48'),
];

/** Names for what lies outside 2000::/3, for the log: all of it is refused, listed or not. */
export const IPV6_OUTSIDE: readonly RefusedRange[] = [
  ...refused('unspecified', '::/128'),
  ...refused('loopback', '::1/128'),
  ...refused('private', 'fc00::/7'),
  ...refused('link_local', 'fe80::/10'),
  ...refused('multicast', 'ff00::/8'),
  ...refused('reserved', 'fec0::/10'), // site-local, deprecated by RFC 3879
  ...refused('embedded_ipv4', '::/96', '::ffff:0:0/96', '::ffff:0:0:0/96', '64:ff9b::/96'),
  ...refused('embedded_ipv4', '64:ff9b:1::/48'), // NAT64 of the local network, RFC 8215
];
