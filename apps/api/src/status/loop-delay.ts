import type { IntervalHistogram } from 'node:perf_hooks';

const NS_PER_SECOND = 1e9;
/** Longer than most scrape intervals, so that each scraper sees each delay. */
const WINDOW_MS = 60_000;
const QUANTILES = ['0.5', '0.99', '1'] as const;

export type LoopDelays = Readonly<Record<(typeof QUANTILES)[number], number>>;
type DelayHistogram = Pick<IntervalHistogram, 'percentile' | 'max' | 'count' | 'reset'>;
const NONE: LoopDelays = { '0.5': 0, '0.99': 0, '1': 0 };

/**
 * How late timers ran in the last one or two minutes, or since somebody last asked when that is longer
 * ago. Asking changes nothing that the next one sees for a minute at least, and no timer is needed for it.
 */
export class LoopDelay {
  private before: LoopDelays = NONE;
  private beganAt: number;
  private readonly histogram: DelayHistogram;
  private readonly resolutionMs: number;
  private readonly nowMs: () => number;

  /** @param histogram - of nanoseconds between two looks, `resolutionMs` apart when nothing delays */
  constructor(histogram: DelayHistogram, resolutionMs: number, nowMs: () => number) {
    this.histogram = histogram;
    this.resolutionMs = resolutionMs;
    this.nowMs = nowMs;
    this.beganAt = nowMs();
  }

  /** In seconds: of each quantile, the worse of the window that runs and the one before. */
  read(): LoopDelays {
    const current = this.current();
    const shown: LoopDelays = {
      '0.5': Math.max(this.before['0.5'], current['0.5']),
      '0.99': Math.max(this.before['0.99'], current['0.99']),
      '1': Math.max(this.before['1'], current['1']),
    };
    const now = this.nowMs();
    if (now - this.beganAt >= WINDOW_MS) {
      this.before = current;
      this.beganAt = now;
      this.histogram.reset();
    }
    return shown;
  }

  private current(): LoopDelays {
    if (this.histogram.count === 0) return NONE;
    // The histogram holds whole intervals: what is above the resolution is delay.
    const delay = (ns: number) => Math.max(0, ns / NS_PER_SECOND - this.resolutionMs / 1000);
    return {
      '0.5': delay(this.histogram.percentile(50)),
      '0.99': delay(this.histogram.percentile(99)),
      '1': delay(this.histogram.max),
    };
  }
}
