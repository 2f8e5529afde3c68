/** This process, as it tells receivers and probes; a test compares it with package.json. */
export const VERSION = '0.1.0';
