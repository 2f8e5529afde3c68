import { text } from 'node:stream/consumers';

import { run } from './run.js';

// `ghost jobs list | head` closes the pipe early: what is left to say has no reader.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(process.exitCode);
    throw error;
  });
}

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  print: (line) => void process.stdout.write(`${line}\n`),
  note: (line) => void process.stderr.write(`${line}\n`),
  now: () => new Date(),
  input: () => text(process.stdin),
});
