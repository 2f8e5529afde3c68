import { run } from '../../apps/cli/src/run.js';

export interface GhostResult {
  code: number;
  out: string;
  err: string;
}

/**
 * Runs one command line of the CLI to its end, as its process does but in the test's own: starting one costs
 * more than half a second of a core. It sees nothing of the environment but `env`.
 * What the process adds (streams, exit code) is tested in test/e2e/start.test.ts and with the packed command.
 */
export async function ghost(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  input = '',
): Promise<GhostResult> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await run(args, {
    env,
    print: (text) => void out.push(`${text}\n`),
    note: (text) => void err.push(`${text}\n`),
    now: () => new Date(),
    input: async () => input,
  });
  return { code, out: out.join(''), err: err.join('') };
}
