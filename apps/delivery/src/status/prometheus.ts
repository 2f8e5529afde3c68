import type { JobKind } from '@ghost/contract';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

import type { Metrics, MetricsSources } from './metrics.js';

const STATEMENT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** The numbers of this process. All are read when someone asks: an idle process has no timer for them. */
export function createPrometheus(kinds: readonly JobKind[], sources: MetricsSources): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const attempts = new Counter({
    name: 'ghost_delivery_attempts_total',
    help: 'Attempts by what came of them.',
    labelNames: ['kind', 'outcome', 'reason'],
    registers,
  });
  const claims = new Histogram({
    name: 'ghost_delivery_claim_seconds',
    help: 'Time of a claim statement.',
    labelNames: ['kind'],
    buckets: STATEMENT_SECONDS,
    registers,
  });
  const jobs = new Counter({
    name: 'ghost_delivery_claimed_jobs_total',
    help: 'Jobs that claims brought.',
    labelNames: ['kind'],
    registers,
  });
  const settles = new Histogram({
    name: 'ghost_delivery_settle_seconds',
    help: 'Time to write a batch of outcomes, waits for the database included.',
    buckets: STATEMENT_SECONDS,
    registers,
  });
  const outcomes = new Counter({
    name: 'ghost_delivery_settled_outcomes_total',
    help: 'Outcomes written.',
    registers,
  });
  registerGauges(registry, kinds, sources);
  return {
    attempted: (kind, outcome, reason) => attempts.inc({ kind, outcome, reason }),
    claimed: (kind, tookMs, count) => {
      claims.observe({ kind }, tookMs / 1000);
      jobs.inc({ kind }, count);
    },
    settled: (tookMs, count) => {
      settles.observe(tookMs / 1000);
      outcomes.inc(count);
    },
    render: async () => ({
      text: await registry.metrics(),
      contentType: registry.contentType,
    }),
  };
}

function registerGauges(registry: Registry, kinds: readonly JobKind[], sources: MetricsSources) {
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number | Promise<number>) =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(await read());
      },
    });
  const byKind = (name: string, help: string, read: (kind: JobKind) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['kind'],
      registers,
      collect() {
        for (const kind of kinds) this.set({ kind }, read(kind));
      },
    });
  byKind('ghost_delivery_sending', 'Jobs that are being sent.', sources.sending);
  byKind(
    'ghost_delivery_in_hand_bytes',
    'Memory of the contents of jobs that are being sent.',
    sources.bytes,
  );
  gauge('ghost_delivery_in_hand', 'Jobs claimed and not yet settled.', sources.inHand);
  gauge('ghost_delivery_database_up', 'Whether the last statement was answered.', () =>
    Number(sources.databaseUp()),
  );
  gauge('ghost_delivery_listening', 'Whether the LISTEN connection is up.', () =>
    Number(sources.listening()),
  );
  gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
  gauge('process_cpu_seconds', 'CPU time of the process since its start.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  let last = performance.eventLoopUtilization();
  gauge(
    'ghost_event_loop_utilization',
    'Share of time that the loop was busy since the last scrape.',
    () => {
      const { utilization } = performance.eventLoopUtilization(last);
      last = performance.eventLoopUtilization();
      return utilization;
    },
  );
  gauge('ghost_event_loop_delay_seconds', 'How long a turn of the loop took now.', turnOfLoop);
}

function turnOfLoop(): Promise<number> {
  const startedAt = performance.now();
  return new Promise((resolve) =>
    setImmediate(() => resolve((performance.now() - startedAt) / 1000)),
  );
}
