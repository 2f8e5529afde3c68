import { orAfter } from './or-after.js';

const GOODBYE_MS = 1_000;

/** What goes on behind the requests: one run at a time, told by its signal when its process stops. */
export class BackgroundRun {
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;

  get isUnderWay(): boolean {
    return this.running !== undefined;
  }

  /** No run may start any more. */
  get isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  /** @param run - never rejects */
  async start(run: (stopping: AbortSignal) => Promise<void>): Promise<void> {
    this.running = run(this.stopping.signal).finally(() => {
      this.running = undefined;
    });
    await this.running;
  }

  /** Ends after the step under way; another process, or the next start, goes on. */
  async stop(): Promise<void> {
    this.stopping.abort();
    if (this.running === undefined) return;
    // Before its pause a step takes some milliseconds; one that gets no answer ends with the process.
    await orAfter(GOODBYE_MS, this.running, undefined);
  }
}
