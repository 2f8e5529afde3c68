export {
  type AddressPolicy,
  DEFAULT_POLICY,
  type ListField,
  type ParsedAddressPolicy,
  parseAddressPolicy,
  type PolicyFault,
  type RawAddressPolicy,
} from './address-policy.js';
export type { AllowRule } from './address/address-rules.js';
export {
  type AnswersVerdict,
  checkAddress,
  checkAnswers,
  type DialTarget,
  type PolicyReason,
  type Verdict,
} from './address/check-address.js';
export {
  checkHeader,
  checkHeaders,
  type HeaderFault,
  type HeaderReason,
  type HeaderVerdict,
} from './check-header.js';
export { checkSecret, type SecretReason, type SecretVerdict } from './check-secret.js';
export { checkUrl, type UrlReason, type UrlVerdict } from './url/check-url.js';
export type { Cidr } from './address/cidr.js';
export { explainRefusal, type RefusalExplanation } from './explain-refusal.js';
export { GENERIC_REFUSAL } from './generic-refusal.js';
export type { HostRule } from './url/host-rules.js';
export { isMask } from './mask.js';
export { isAddress } from './address/parse-address.js';
export { parseUrl } from './url/parse-url.js';
export type { PortRange } from './url/port-rules.js';
