import { expect, test } from 'vitest';

import { deadlineReason, networkFaultReason } from './network-fault.js';
import { whoseFault } from './whose-fault.js';

test('what an endpoint answers is its own doing', () => {
  for (const reason of ['http_4xx', 'http_5xx', 'rate_limited', 'redirect_not_followed']) {
    expect(whoseFault(reason)).toBe('endpoint');
  }
  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'EPIPE']) {
    expect(whoseFault(networkFaultReason(code, 'request'))).toBe('endpoint');
  }
  // It took the connection, so there is a way.
  expect(whoseFault(deadlineReason('request'))).toBe('endpoint');
});

test('what comes of no way out, bad name servers, a wrong clock or old authorities may be ours', () => {
  for (const phase of ['dns', 'connect', 'tls'] as const) {
    expect(whoseFault(deadlineReason(phase))).toBe('doubtful');
  }
  const codes = ['ENOTFOUND', 'ENETUNREACH', 'EHOSTUNREACH', 'ETIMEDOUT', 'EMFILE'];
  for (const code of codes) {
    const phase = code === 'ENOTFOUND' ? 'dns' : 'connect';
    expect(whoseFault(networkFaultReason(code, phase))).toBe('doubtful');
  }
  // It says so of its own trouble and of an endpoint's alike.
  expect(whoseFault('proxy_failed')).toBe('doubtful');
  for (const code of ['CERT_HAS_EXPIRED', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY']) {
    expect(whoseFault(networkFaultReason(code, 'tls'))).toBe('doubtful');
  }
});

test('our policy and what threw here tell nothing of an endpoint', () => {
  for (const reason of ['forbidden_address', 'internal_error']) {
    expect(whoseFault(reason)).toBe('ours');
  }
});
