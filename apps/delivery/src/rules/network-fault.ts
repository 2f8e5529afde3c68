import { assertNever } from '@ghost/contract';

/** How far an attempt came. */
export type WebhookPhase = 'dns' | 'connect' | 'tls' | 'request';

export type NetworkFaultReason =
  | 'dns_not_found'
  | 'dns_timeout'
  | 'dns_failed'
  | 'connection_refused'
  | 'connection_timeout'
  | 'unreachable'
  | 'connection_failed'
  | 'connection_reset'
  | 'connection_closed'
  | 'tls_expired'
  | 'tls_self_signed'
  | 'tls_unknown_authority'
  | 'tls_wrong_host'
  | 'tls_certificate'
  | 'tls_protocol'
  | 'tls_failed'
  | 'head_too_large'
  | 'bad_response'
  | 'proxy_failed'
  | 'tls_timeout'
  | 'response_timeout';

/** One sentence for the owner: no address, port or text of an error, which could tell about the network inside. */
const SENTENCES: Record<NetworkFaultReason, string> = {
  dns_not_found: 'The name of the endpoint was not found in the DNS.',
  dns_timeout: 'The DNS gave no answer for the name of the endpoint.',
  dns_failed: 'The DNS could not answer for the name of the endpoint.',
  connection_refused: 'The endpoint refused the connection.',
  connection_timeout: 'The endpoint did not take the connection in time.',
  unreachable: 'There is no route to the endpoint.',
  connection_failed: 'The connection to the endpoint failed.',
  connection_reset: 'The endpoint broke off the connection.',
  connection_closed: 'The endpoint closed the connection before it had answered.',
  tls_expired: 'The certificate of the endpoint has expired, or is not valid yet.',
  tls_self_signed: 'The certificate of the endpoint is self-signed.',
  tls_unknown_authority:
    'The certificate of the endpoint leads to no known authority: it comes from an unknown one, or the endpoint leaves out an intermediate certificate.',
  tls_wrong_host: 'The certificate of the endpoint is for another host name.',
  tls_certificate: 'The certificate of the endpoint is not valid.',
  tls_protocol:
    'The endpoint speaks no TLS, or no version and ciphers of it that Ghost accepts, or asks for a client certificate.',
  tls_failed: 'No secure connection could be made with the endpoint.',
  head_too_large: 'The head of the answer is larger than 8 KiB or has more than 100 fields.',
  bad_response: 'What the endpoint answered is not HTTP/1.1.',
  proxy_failed: 'Ghost could not get out to the endpoint.',
  tls_timeout: 'The endpoint did not finish the TLS handshake in time.',
  response_timeout: 'The endpoint did not answer in time.',
};

const REASONS: Record<string, NetworkFaultReason> = {
  ENOTFOUND: 'dns_not_found',
  ENODATA: 'dns_not_found',
  ETIMEOUT: 'dns_timeout',
  ECONNREFUSED: 'connection_refused',
  ETIMEDOUT: 'connection_timeout',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EHOSTDOWN: 'unreachable',
  ENETDOWN: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  ECONNRESET: 'connection_reset',
  ECONNABORTED: 'connection_reset',
  EPIPE: 'connection_closed',
};

/** OpenSSL's names for a certificate that does not verify (Node's TLS documentation, "X509 certificate error codes"). */
const CERTIFICATE_REASONS: Record<string, NetworkFaultReason> = {
  CERT_HAS_EXPIRED: 'tls_expired',
  CERT_NOT_YET_VALID: 'tls_expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'tls_self_signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'tls_unknown_authority',
  UNABLE_TO_GET_ISSUER_CERT: 'tls_unknown_authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'tls_unknown_authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'tls_unknown_authority',
  CERT_UNTRUSTED: 'tls_unknown_authority',
  INVALID_CA: 'tls_unknown_authority',
  HOSTNAME_MISMATCH: 'tls_wrong_host',
  ERR_TLS_CERT_ALTNAME_INVALID: 'tls_wrong_host',
  ERR_TLS_CERT_ALTNAME_FORMAT: 'tls_wrong_host',
};
const OTHER_CERTIFICATE_CODE =
  /^(?:CERT_|CRL_|ERROR_IN_|UNABLE_TO_|INVALID_PURPOSE|PATH_LENGTH_|UNSPECIFIED|ERR_TLS_CERT_)/u;
/** What OpenSSL says of the other side's TLS: a version, a cipher, an alert, or no TLS at all. */
const PROTOCOL_CODE = /^(?:ERR_SSL_|EPROTO$)/u;

/** The stable reason for an error code met in a phase. */
export function networkFaultReason(
  code: string | undefined,
  phase: WebhookPhase,
): NetworkFaultReason {
  if (phase === 'dns') {
    const reason = REASONS[code ?? ''];
    return reason?.startsWith('dns_') ? reason : 'dns_failed';
  }
  // With TLS 1.3 the handshake is over for us before an endpoint refuses it.
  const tls = tlsReason(code ?? '');
  if (phase === 'tls') return tls ?? 'tls_failed';
  const reason = REASONS[code ?? ''] ?? tls;
  if (reason !== undefined) return reason;
  return phase === 'connect' ? 'connection_failed' : 'connection_closed';
}

/** Whether an error code says that TLS failed, rather than the connection. */
export function isTlsFault(code: string | undefined): boolean {
  return tlsReason(code ?? '') !== undefined;
}

function tlsReason(code: string): NetworkFaultReason | undefined {
  const reason = CERTIFICATE_REASONS[code];
  if (reason !== undefined) return reason;
  if (OTHER_CERTIFICATE_CODE.test(code)) return 'tls_certificate';
  return PROTOCOL_CODE.test(code) ? 'tls_protocol' : undefined;
}

/** The reason when the deadline passes in a phase. */
export function deadlineReason(phase: WebhookPhase): NetworkFaultReason {
  switch (phase) {
    case 'dns':
      return 'dns_timeout';
    case 'connect':
      return 'connection_timeout';
    case 'tls':
      return 'tls_timeout';
    case 'request':
      return 'response_timeout';
    default:
      return assertNever(phase);
  }
}

export function networkFaultSentence(reason: NetworkFaultReason): string {
  return SENTENCES[reason];
}
