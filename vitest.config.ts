import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { SummaryReporter } from './test/reporter.js';

const root = fileURLToPath(new URL('.', import.meta.url));
const packageNames = readdirSync(`${root}/packages`);

/** Real processes and sockets take a while when both cores are busy. */
const UNIT_TIMEOUT_MS = 20_000;
const E2E_TIMEOUT_MS = 120_000;
const HOOK_TIMEOUT_MS = 60_000;
/** Two cores are what the project promises to be tested on. */
const UNIT_WORKERS = 2;

// Packages are tested from their sources: mixed with a build, a module would exist twice.
const alias = [
  {
    find: new RegExp(`^@ghost/(${packageNames.join('|')})$`),
    replacement: `${root}packages/$1/src/index.ts`,
  },
  { find: '@ghost/playground/postgres', replacement: `${root}apps/playground/src/postgres.ts` },
];

// NestJS injects by the metadata of decorators. Said here, as the API's tsconfig leaves tests out.
const oxc = { decorator: { legacy: true, emitDecoratorMetadata: true } };

export default defineConfig({
  resolve: { alias },
  oxc,
  test: {
    // At the root, not in the projects, where it would start one server for each.
    globalSetup: ['test/global-setup.ts'],
    reporters: ['default', new SummaryReporter()],
    projects: [
      {
        resolve: { alias },
        oxc,
        test: {
          name: 'unit',
          include: [
            '{packages,apps}/*/src/**/*.test.ts',
            // What needs none of the peers.
            'bench/src/clock.test.ts',
            'bench/src/report/*.test.ts',
            'test/*.test.ts',
            'test/support/**/*.test.ts',
          ],
          testTimeout: UNIT_TIMEOUT_MS,
          hookTimeout: HOOK_TIMEOUT_MS,
          maxWorkers: UNIT_WORKERS,
          // A worker loads each module once for all of its files: a quarter less time. No module keeps state.
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        resolve: { alias },
        oxc,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: E2E_TIMEOUT_MS,
          hookTimeout: HOOK_TIMEOUT_MS,
          // One after the other: they start processes of their own and measure time.
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
