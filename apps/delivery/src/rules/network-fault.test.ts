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
    ['CERT_HAS_EXPIRED', 'tls', 'tls_certificate'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls', 'tls_certificate'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls', 'tls_certificate'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls', 'tls_failed'],
    ['ECONNRESET', 'tls', 'tls_failed'],
    ['ECONNRESET', 'request', 'connection_reset'],
    ['UND_ERR_SOCKET', 'request', 'connection_closed'],
    ['UND_ERR_HEADERS_OVERFLOW', 'request', 'head_too_large'],
    ['HTTPParserError', 'request', 'bad_response'],
    ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'request', 'bad_response'],
    ['whatever', 'request', 'connection_closed'],
  ] as const)('%s while %s: %s', (code, phase, reason) => {
    expect(networkFaultReason(code, phase)).toBe(reason);
  });

  test('the deadline names the phase that used it up', () => {
    expect((['dns', 'connect', 'tls', 'request', 'body'] as const).map(deadlineReason)).toEqual([
      'dns_timeout',
      'connection_timeout',
      'tls_timeout',
      'response_timeout',
      'response_timeout',
    ]);
  });

  test('no sentence holds a number, which could be an address or a port', () => {
    for (const reason of ['dns_failed', 'connection_refused', 'tls_failed'] as const) {
      expect(networkFaultSentence(reason)).not.toMatch(/\d/u);
    }
  });
});
