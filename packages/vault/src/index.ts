export { bounceAddress, jobOfBounceAddress } from './bounce-address.js';
export {
  decrypt,
  encrypt,
  keyIdOf,
  needsRotation,
  reencrypt,
  type SecretContext,
} from './envelope.js';
export { openHookHeaders, type SealedHeader, sealHookHeaders } from './hook-headers.js';
export { hookSecretContext } from './hook-secret-context.js';
export { KeyedMac, MAC_BYTES } from './keyed-mac.js';
export { generateKeyEntry, type KeyRing, type ParsedKeyRing, parseKeyRing } from './key-ring.js';
export { VaultError, type VaultErrorCode } from './vault-error.js';
