import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type Parse, parsed, problem } from './parsed.js';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
/** RFC 8301 §3.2: verifiers ignore shorter keys. */
const MIN_DKIM_BITS = 1_024;

/** The certificates of a PEM file, one text each. */
export const certificates: Parse<readonly string[]> = (text) => {
  const found = text.match(CERTIFICATE) ?? [];
  if (found.length === 0) return problem('names a file without a PEM certificate');
  const bad = found.findIndex((pem) => !isCertificate(pem));
  return bad < 0
    ? parsed(found)
    : problem(`names a file whose certificate ${bad + 1} cannot be read`);
};

/** An RSA key: Ed25519 signatures (RFC 8463) are made by no mailer here and read by few receivers. */
export const dkimKey: Parse<string> = (text) => {
  try {
    const key = createPrivateKey(text);
    const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
    return key.asymmetricKeyType === 'rsa' && bits >= MIN_DKIM_BITS
      ? parsed(text)
      : problem(`names a key that is not RSA of ${MIN_DKIM_BITS} bits or more`);
  } catch {
    return problem('names a file that holds no unencrypted PEM private key');
  }
};

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}
