/** The variable that gives a child the signature, and the header in which it shows it. */
export const READY_SIGNATURE_ENV = 'PLAYGROUND_READY_SIGNATURE';
export const READY_SIGNATURE_HEADER = 'x-playground-ready';
