import type { UrlReason } from './url/check-url.js';

/** For the operator's log: what was found, and the setting that rules over it (null: no setting does). */
export type RefusalExplanation = { what: string; setting: string | null };

const LIFTED_BY_RANGE = 'GHOST_ALLOW_CIDRS';
const LIFTED_BY_NAME_OR_RANGE = 'GHOST_ALLOW_HOSTS or GHOST_ALLOW_CIDRS';
const LIFTED_BY_NAME = 'GHOST_ALLOW_HOSTS';

const EXPLANATIONS: Record<UrlReason, RefusalExplanation> = {
  malformed_address: { what: 'not an address in canonical form', setting: null },
  zone_id: { what: 'an address with a zone id', setting: null },
  unspecified: { what: 'this-network address (0.0.0.0/8, ::)', setting: LIFTED_BY_RANGE },
  loopback: { what: 'loopback address', setting: LIFTED_BY_RANGE },
  private: { what: 'private address', setting: LIFTED_BY_NAME_OR_RANGE },
  cgnat: { what: 'carrier-grade NAT address', setting: LIFTED_BY_NAME_OR_RANGE },
  link_local: { what: 'link-local address', setting: LIFTED_BY_RANGE },
  metadata: { what: 'metadata service of a cloud', setting: LIFTED_BY_RANGE },
  multicast: { what: 'multicast address', setting: LIFTED_BY_RANGE },
  reserved: { what: 'reserved address', setting: LIFTED_BY_RANGE },
  documentation: { what: 'documentation address', setting: LIFTED_BY_RANGE },
  not_global_unicast: { what: 'IPv6 outside 2000::/3', setting: LIFTED_BY_RANGE },
  embedded_ipv4: {
    what: 'IPv6 address that carries an IPv4 address',
    setting: 'GHOST_ALLOW_NAT64 (64:ff9b::/96 only) or GHOST_ALLOW_CIDRS',
  },
  operator_denied: { what: 'address in a denied range', setting: 'GHOST_DENY_CIDRS' },
  no_answer: { what: 'the name has no address', setting: null },
  name_loopback: { what: 'name of the machine itself', setting: null },
  name_metadata: { what: 'name of a metadata service', setting: null },
  name_internal: { what: 'name below an internal suffix', setting: LIFTED_BY_NAME },
  name_single_label: { what: 'name without a dot', setting: LIFTED_BY_NAME },
  name_malformed: { what: 'malformed name', setting: null },
  name_trailing_dot: { what: 'name with a trailing dot', setting: null },
  name_empty_label: { what: 'name with an empty label', setting: null },
  name_label_too_long: { what: 'name with a label over 63 characters', setting: null },
  name_too_long: { what: 'name over 253 characters', setting: null },
  url_empty: { what: 'empty URL', setting: null },
  url_too_long: { what: 'URL over its length limit', setting: null },
  url_hidden_characters: { what: 'URL with blanks or hidden characters', setting: null },
  url_malformed: { what: 'malformed URL', setting: null },
  url_scheme: { what: 'scheme other than http and https', setting: null },
  url_https_only: { what: 'plain http', setting: 'GHOST_WEBHOOK_HTTPS_ONLY' },
  url_userinfo: { what: 'URL with credentials', setting: null },
  port_refused: { what: 'port outside the allowed ones', setting: 'GHOST_WEBHOOK_PORTS' },
};

/** What the operator reads for a reason; `PolicyReason` is part of `UrlReason`. */
export function explainRefusal(reason: UrlReason): RefusalExplanation {
  return EXPLANATIONS[reason];
}
