/** Exit codes of every process (sysexits.h); 0 after SIGTERM. */
export const EXIT = {
  /** EX_CONFIG: a setting or a key is wrong; a restart will not help. */
  config: 78,
  /** EX_UNAVAILABLE: port taken, database or SMTP out of reach at start; a restart may help. */
  unavailable: 69,
  /** A check, a command or `--once` failed. */
  failed: 1,
} as const;
