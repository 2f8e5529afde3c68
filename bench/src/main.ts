import { Stops } from '../../test/support/stops.js';
import { bench } from './bench.js';
import { OptionsError, readOptions } from './options.js';

const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

const stops = new Stops();
let interrupted = false;
for (const [signal, code] of Object.entries(SIGNALS)) {
  process.on(signal, () => {
    // The second time it is meant: what was started dies with this process.
    if (interrupted) process.exit(code);
    interrupted = true;
    console.error('\nStopping what was started…');
    void stops.run().finally(() => process.exit(code));
  });
}

try {
  const ok = await bench(readOptions(process.argv.slice(2)), stops);
  await stops.run();
  process.exitCode = ok ? 0 : 1;
} catch (error) {
  // What fails because its server was stopped is no news.
  if (!interrupted) {
    console.error(`bench: ${messageOf(error)}`);
    await stops.run();
    process.exit(1);
  }
}

function messageOf(error: unknown): string {
  if (error instanceof OptionsError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
