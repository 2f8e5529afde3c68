import { writeSync } from 'node:fs';
import type { Reporter, TestModule, TestSuite } from 'vitest/node';

const STDOUT = 1;

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/**
 * Prints `N passed, N failed` (and `, N skipped`) as the very last line of the process.
 *
 * What keeps tests from running counts as failed too: a file that does not load, a failed
 * `beforeAll`, an error that nobody caught, a failed global setup. With a failure the exit code is
 * never 0.
 */
export class SummaryReporter implements Reporter {
  /** Stays undefined when the run never came to its end. */
  private counts: Counts | undefined;
  private timedOut = false;

  onInit(): void {
    process.once('exit', (code) => this.finish(code));
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) countModule(module, counts);
    this.counts = counts;
  }

  onProcessTimeout(): void {
    this.timedOut = true;
  }

  private finish(exitCode: number): void {
    const { passed, failed, skipped } = this.counts ?? { passed: 0, failed: 0, skipped: 0 };
    const unexplained = this.timedOut || this.counts === undefined || exitCode !== 0;
    const failures = failed === 0 && unexplained ? 1 : failed;
    if (failures > 0 && exitCode === 0) process.exitCode = 1;
    const skips = skipped > 0 ? `, ${skipped} skipped` : '';
    writeLine(`${passed} passed, ${failures} failed${skips}`);
  }
}

function countModule(module: TestModule, counts: Counts): void {
  if (hasOwnFailure(module)) counts.failed++;
  for (const suite of module.children.allSuites()) if (hasOwnFailure(suite)) counts.failed++;
  for (const test of module.children.allTests()) {
    switch (test.result().state) {
      case 'passed':
        counts.passed++;
        break;
      case 'skipped':
        counts.skipped++;
        break;
      case 'failed':
      // A test that never ended when the run did has not passed.
      case 'pending':
        counts.failed++;
        break;
    }
  }
}

/** True for errors of the file or the suite itself: loading, `beforeAll`, `afterAll`. */
function hasOwnFailure(suite: TestModule | TestSuite): boolean {
  return suite.errors().length > 0;
}

/** Written at once: at exit nothing that is still queued would be seen. */
function writeLine(line: string): void {
  const bytes = Buffer.from(`${line}\n`);
  let written = 0;
  while (written < bytes.length) {
    try {
      written += writeSync(STDOUT, bytes, written);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
    }
  }
}
