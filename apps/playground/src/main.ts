import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { inert, inertLine } from '@ghost/operations';
import { EXIT } from '@ghost/settings';

import { describePlayground, mailLine, strayLine, webhookLine } from './announce.js';
import { claimFolder, LOCK_FILE } from './claim-folder.js';
import type { Child } from './processes/children.js';
import { explainFailure } from './explain-failure.js';
import { createHalt, type Halt, haltOnSignals } from './processes/halt.js';
import { type Lock, LockHeldError, takeLock } from './processes/lock.js';
import { runOnce } from './once/once.js';
import { HELP, type Options, readOptions } from './options.js';
import { PlaygroundError } from './playground-error.js';
import { createProgress } from './progress.js';
import { resetFolder } from './reset.js';
import { formatReport } from './once/report.js';
import { startPlayground } from './start/start-playground.js';
import { createTeller } from './start/teller.js';
import { createStopStack } from './processes/stop-stack.js';
import { createWitness, type Observer, type Witness } from './catchers/witness.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const { say, step } = createTeller(process.stdout);
const complain = (line: string) => void process.stderr.write(`${inert(line)}\n`);

/** The composition root: arguments and environment in, an exit code out. */
async function main(): Promise<number> {
  // A terminal that went away must not keep the rest from being stopped.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const halt = createHalt();
  const children: Child[] = [];
  let lock: Lock | undefined;
  const release = haltOnSignals(halt, () => {
    complain('Stopping at once.');
    for (const child of children) child.kill();
    lock?.releaseNow();
    process.exit(EXIT.failed);
  });
  try {
    const options = readOptions(process.argv.slice(2), path.join(ROOT, '.ghost'));
    if (options.help) {
      say(HELP);
      return 0;
    }
    lock = await lockFolder(options);
    if (options.reset) await reset(options.folder);
    return await run(options, halt, children, lock);
  } catch (error) {
    const failure = explainFailure(error);
    complain(failure.message);
    return failure.exitCode;
  } finally {
    await lock?.release();
    release();
  }
}

async function lockFolder({ folder }: Options): Promise<Lock> {
  await claimFolder(folder);
  try {
    return await takeLock(path.join(folder, LOCK_FILE));
  } catch (error) {
    if (!(error instanceof LockHeldError)) throw error;
    const { pid, url } = error.owner;
    throw new PlaygroundError(
      EXIT.failed,
      `A playground already runs on ${folder} (process ${pid}${url === undefined ? ', still starting' : `, ${url}`}). ` +
        `Stop it (Ctrl-C where it runs, or: kill ${pid}), or use another folder: npm start -- --dir FOLDER`,
      { cause: error },
    );
  }
}

/** The lock says that nobody runs; it stays. */
async function reset(folder: string): Promise<void> {
  const { removed, left } = await step(`Removing what ${folder} holds`, () => resetFolder(folder));
  say(removed.length > 0 ? `Removed: ${removed.join(', ')}` : 'There was nothing to remove.');
  if (left.length > 0)
    say(`Left, as the playground did not make it: ${inertLine(left.join(', '))}`);
}

async function run(options: Options, halt: Halt, children: Child[], lock: Lock): Promise<number> {
  const stack = createStopStack((name) => {
    if (name !== 'connections') say(`Stopping: ${name}`);
  });
  const witness = createWitness();
  const observer: Observer = options.once
    ? witness
    : {
        onMail: (mail) => say(mailLine(mail)),
        onWebhook: (hook) => say(webhookLine(hook)),
        onStray: (stray) => say(strayLine(stray)),
      };
  let exitCode: number;
  try {
    const playground = await startPlayground({
      options,
      env: process.env,
      halt,
      stack,
      observer,
      step,
      say,
      onChild: (child) => children.push(child),
    });
    await lock.tell(playground.apiUrl);
    if (options.once) {
      exitCode = await once(options, halt, playground, witness);
    } else {
      say(describePlayground(playground));
      exitCode = await untilHalted(halt);
    }
  } catch (error) {
    exitCode = halted(halt, options) ?? report(error);
  }
  for (const failure of await stack.unwind()) {
    complain(explainFailure(failure).message);
    exitCode = exitCode === 0 ? EXIT.failed : exitCode;
  }
  if (exitCode === 0) say('Stopped.');
  return exitCode;
}

async function once(
  options: Options,
  halt: Halt,
  playground: Awaited<ReturnType<typeof startPlayground>>,
  witness: Witness,
): Promise<number> {
  const result = await runOnce({
    playground,
    witness,
    comments: options.comments,
    timeoutMs: options.timeoutMs,
    modules: path.join(ROOT, 'node_modules'),
    progress: createProgress(process.stdout),
    signal: halt.signal,
  });
  say(`\n${formatReport(result.rows)}\n`);
  const deliveries = result.rows.filter((row) => row.attempts !== '').length;
  if (result.faults.length === 0) {
    say(
      `All ${deliveries} deliveries of ${result.posted} events came and were verified (${result.seconds.toFixed(1)} s).`,
    );
    return 0;
  }
  complain(`Not everything came as it should (${result.faults.length}):`);
  for (const fault of result.faults) complain(`  ${fault}`);
  return EXIT.failed;
}

async function untilHalted(halt: Halt): Promise<number> {
  const reason = await halt.wait();
  return reason.kind === 'asked' ? 0 : report(reason.error);
}

/** The exit code when something broke off because everything is stopping; undefined otherwise. */
function halted(halt: Halt, options: Options): number | undefined {
  const { reason } = halt;
  if (reason === undefined) return undefined;
  if (reason.kind === 'failed') return report(reason.error);
  if (!options.once) return 0;
  complain(`Stopped by ${reason.signal} before everything was delivered and verified.`);
  return EXIT.failed;
}

function report(error: unknown): number {
  const failure = explainFailure(error);
  complain(failure.message);
  return failure.exitCode;
}

process.exitCode = await main();
