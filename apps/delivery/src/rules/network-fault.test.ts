import { describe, expect, test } from 'vitest';

import { deadlineReason, networkFaultReason, networkFaultSentence } from './network-fault.js';

describe('the reason of a network fault', () => {
  test.each([
    ['ENOTFOUND', 'dns', 'dns_not_found'],
    ['ESERVFAIL', 'dns', 'dns_failed'],
    ['ETIMEOUT', 'dns', 'dns_timeout'],
    // A resolver that cannot be reached says nothing about the endpoint.
    ['ECONNREFUSED', 'dns', 'dns_failed'],
    [undefined, 'dns', 'dns_failed'],
    ['ECONNREFUSED', 'connect', 'connection_refused'],
    ['ETIMEDOUT', 'connect', 'connection_timeout'],
    ['ENETUNREACH', 'connect', 'unreachable'],
    ['EMFILE', 'connect', 'connection_failed'],
    ['CERT_HAS_EXPIRED', 'tls', 'tls_expired'],
    ['CERT_NOT_YET_VALID', 'tls', 'tls_expired'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls', 'tls_self_signed'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'tls', 'tls_unknown_authority'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls', 'tls_unknown_authority'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'tls', 'tls_unknown_authority'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls', 'tls_wrong_host'],
    ['CERT_REVOKED', 'tls', 'tls_certificate'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls', 'tls_protocol'],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'tls', 'tls_protocol'],
    ['EPROTO', 'tls', 'tls_protocol'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'request', 'tls_protocol'],
    ['ECONNRESET', 'tls', 'tls_failed'],
    ['ECONNRESET', 'request', 'connection_reset'],
    ['whatever', 'request', 'connection_closed'],
  ] as const)('%s while %s: %s', (code, phase, reason) => {
    expect(networkFaultReason(code, phase)).toBe(reason);
  });

  test('the deadline names the phase that used it up', () => {
    expect((['dns', 'connect', 'tls', 'request'] as const).map(deadlineReason)).toEqual([
      'dns_timeout',
      'connection_timeout',
      'tls_timeout',
      'response_timeout',
    ]);
  });

  test('no sentence holds a number, which could be an address or a port', () => {
    for (const reason of ['dns_failed', 'connection_refused', 'tls_failed'] as const) {
      expect(networkFaultSentence(reason)).not.toMatch(/\d/u);
    }
  });
});
