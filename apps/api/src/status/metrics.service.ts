import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

import { CONSUMERS } from '@ghost/contract';
import { type Database, schema } from '@ghost/db';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { count, isNull } from 'drizzle-orm';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

import { DATABASE } from '../database/tokens.js';
import { LoopDelay } from './loop-delay.js';

// Fine enough to see 20 ms, coarse enough to cost an idle process nothing that can be measured.
const LOOP_RESOLUTION_MS = 10;
const REQUEST_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

export interface ServedRequest {
  method: string;
  /** The route's pattern; never the path, whose values have no bound and may be secret. */
  route: string;
  status: number;
  seconds: number;
}

/** What an operator's Prometheus reads. The database is asked only when somebody reads. */
@Injectable()
export class MetricsService implements OnApplicationShutdown {
  private readonly registry = new Registry();
  private readonly loop: IntervalHistogram = monitorEventLoopDelay({
    resolution: LOOP_RESOLUTION_MS,
  });
  private readonly delays = new LoopDelay(this.loop, LOOP_RESOLUTION_MS, () => performance.now());
  private readonly requests = new Counter({
    name: 'ghost_api_requests_total',
    help: 'Requests answered',
    labelNames: ['method', 'route', 'status'],
    registers: [this.registry],
  });
  private readonly seconds = new Histogram({
    name: 'ghost_api_request_seconds',
    help: 'Time to the end of the answer',
    labelNames: ['method', 'route'],
    buckets: REQUEST_BUCKETS_SECONDS,
    registers: [this.registry],
  });
  private readonly refusals = new Counter({
    name: 'ghost_api_refused_total',
    help: 'What came and was no HTTP request',
    labelNames: ['status'],
    registers: [this.registry],
  });
  private readonly pending = this.gauge('ghost_outbox_pending', 'Events not done', ['consumer']);
  private readonly setAside = this.gauge('ghost_outbox_set_aside', 'Events set aside', [
    'consumer',
  ]);
  private readonly loopDelay = this.gauge(
    'ghost_event_loop_delay_seconds',
    'How late timers ran in the last one or two minutes',
    ['quantile'],
  );
  private readonly memory = this.gauge('ghost_resident_memory_bytes', 'Resident set size');

  constructor(@Inject(DATABASE) private readonly db: Database) {
    this.loop.enable();
  }

  onApplicationShutdown(): void {
    this.loop.disable();
  }

  count({ method, route, status, seconds }: ServedRequest): void {
    this.requests.inc({ method, route, status });
    this.seconds.observe({ method, route }, seconds);
  }

  /** Counts bytes that never became a request. */
  countRefusal(status: number): void {
    this.refusals.inc({ status });
  }

  /** The text of a scrape, and its content type. */
  async read(): Promise<{ text: string; contentType: string }> {
    this.memory.set(process.memoryUsage.rss());
    this.readLoop();
    // A scrape while the database is away still tells the rest.
    await this.readOutbox().catch(() => this.forgetOutbox());
    return { text: await this.registry.metrics(), contentType: this.registry.contentType };
  }

  private readLoop(): void {
    for (const [quantile, seconds] of Object.entries(this.delays.read())) {
      this.loopDelay.set({ quantile }, seconds);
    }
  }

  private async readOutbox(): Promise<void> {
    const { consumer, doneAt, setAsideAt } = schema.outboxProgress;
    const rows = await this.db
      .select({ consumer, unfinished: count(), setAside: count(setAsideAt) })
      .from(schema.outboxProgress)
      .where(isNull(doneAt))
      .groupBy(consumer);
    for (const name of CONSUMERS) {
      const row = rows.find((found) => found.consumer === name);
      this.pending.set({ consumer: name }, (row?.unfinished ?? 0) - (row?.setAside ?? 0));
      this.setAside.set({ consumer: name }, row?.setAside ?? 0);
    }
  }

  private forgetOutbox(): void {
    this.pending.reset();
    this.setAside.reset();
  }

  private gauge<T extends string>(name: string, help: string, labelNames: T[] = []): Gauge<T> {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }
}
