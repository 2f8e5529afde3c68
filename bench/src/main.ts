import { Stops } from '../../test/support/stops.js';
import { bench } from './bench.js';
import { OptionsError, readOptions } from './options.js';

const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

/** One Ctrl-C may come twice: from the terminal, and from who started us. */
const SAME_SIGNAL_WITHIN_MS = 1_000;

const stops = new Stops();
let endingSince: number | undefined;
for (const [signal, code] of Object.entries(SIGNALS)) {
  process.on(signal, () => {
    const now = performance.now();
    if (endingSince !== undefined) {
      // Said again, it is meant: what was started dies with this process.
      if (now - endingSince > SAME_SIGNAL_WITHIN_MS) process.exit(code);
      return;
    }
    endingSince = now;
    console.error('\nStopping what was started…');
    void stops.run().finally(() => process.exit(code));
  });
}

for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  // Connections of a peer's library that its server cut, above all.
  process.on(event, (error: unknown) => void fail(error));
}

try {
  const ok = await bench(readOptions(process.argv.slice(2)), stops);
  await stops.run();
  process.exit(ok ? 0 : 1);
} catch (error) {
  await fail(error);
}

/** Once: what fails because its server was stopped is no news. */
async function fail(error: unknown): Promise<void> {
  if (endingSince !== undefined) return;
  endingSince = performance.now();
  console.error(`bench: ${messageOf(error)}`);
  await stops.run().catch((cause: unknown) => console.error(`bench: ${messageOf(cause)}`));
  process.exit(1);
}

function messageOf(error: unknown): string {
  if (error instanceof OptionsError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
