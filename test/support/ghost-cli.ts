import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The binary that is shipped, as it was built; `npm test` builds first. */
export const GHOST = fileURLToPath(new URL('../../apps/cli/bin/ghost.js', import.meta.url));

export interface GhostResult {
  code: number;
  out: string;
  err: string;
}

/** Runs one command line to its end. It sees nothing of the environment but PATH and `env`. */
export function ghost(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<GhostResult> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [GHOST, ...args],
      { env: { PATH: process.env['PATH'] ?? '', ...env }, maxBuffer: 16 * 1024 * 1024 },
      (error, out, err) => resolve({ code: Number(error?.code ?? 0), out, err }),
    );
  });
}
