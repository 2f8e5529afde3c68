import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import path from 'node:path';

import type { Stops } from '../../test/support/stops.js';
import { bullmq } from './contenders/bullmq.js';
import type { Contender } from './contenders/contender.js';
import { graphileWorker } from './contenders/graphile-worker.js';
import { ours } from './contenders/ours.js';
import { pgBoss } from './contenders/pg-boss.js';
import { raw } from './contenders/raw.js';
import { runRound } from './measure/run-round.js';
import type { Options } from './options.js';
import { profileOurs } from './profile/profile-ours.js';
import { chartSvg } from './report/chart.js';
import { RESULTS } from './results-folder.js';
import { judge, sentenceOf } from './report/judge.js';
import { type RoundResult, summarize } from './report/summary.js';
import { markdownTable } from './report/table.js';
import { TITLES } from './report/titles.js';
import { writeDocs } from './report/write-docs.js';
import { startWorld, type World } from './world.js';

const ALL: readonly Contender[] = [ours, graphileWorker, pgBoss, bullmq, raw];

/** Runs all rounds and tells what came of them; false when a bound is missed. */
export async function bench(options: Options, stops: Stops): Promise<boolean> {
  const started = performance.now();
  const say = (line: string) =>
    console.log(`[${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s] ${line}`);
  const wanted = ALL.filter(({ name }) => options.only.includes(name));
  say('starting Postgres and the receiver');
  const world = await startWorld(stops, options.hooks, wanted.includes(bullmq));
  const about = describe(options, world);
  say(about);
  await mkdir(RESULTS, { recursive: true });
  if (options.profile) {
    await profileOurs(options, world, say);
    return true;
  }
  const contenders = wanted.filter((one) => one !== bullmq || world.place.redisUrl !== null);
  if (contenders.length < wanted.length) say('no redis-server on PATH: BullMQ is left out');
  const results = await runRounds(contenders, options, world, say);
  return report(results, about, options);
}

async function runRounds(
  contenders: readonly Contender[],
  options: Options,
  world: World,
  say: (line: string) => void,
): Promise<RoundResult[]> {
  const results: RoundResult[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    // Whoever comes first has the coolest machine: the order moves on.
    const order = contenders.map((_, place) => contenders[(place + round - 1) % contenders.length]);
    for (const contender of order) {
      if (contender === undefined) continue;
      const figures = await runRound(contender, { ...world, ...options });
      results.push({ round, contender: contender.name, figures });
      const { preloaded, light } = figures;
      const waits = light
        ? `  p50 ${light.p50Ms.toFixed(1)} ms  p99 ${light.p99Ms.toFixed(1)} ms`
        : '';
      say(
        `round ${round} of ${options.rounds}  ${TITLES[contender.name].padEnd(20)} ${Math.round(preloaded.jobsPerSecond).toLocaleString('en').padStart(7)} jobs/s${waits}`,
      );
    }
  }
  return results;
}

async function report(
  results: readonly RoundResult[],
  about: string,
  options: Options,
): Promise<boolean> {
  const summaries = summarize(results);
  const table = markdownTable(summaries);
  const checks = judge(summaries);
  const chart = chartSvg(summaries, about);
  const json = JSON.stringify({ about, options, summaries, checks, results }, null, 2);
  await writeFile(path.join(RESULTS, 'bench.json'), `${json}\n`);
  await writeFile(path.join(RESULTS, 'bench.svg'), chart);
  await writeFile(path.join(RESULTS, 'bench.md'), `${table}\n`);
  if (options.docs) await writeDocs({ table, chart, about, checks });
  console.log(`\n${table}\n`);
  for (const check of checks) console.log(sentenceOf(check));
  console.log(`\nWritten: ${RESULTS}/bench.{json,svg,md}`);
  return checks.every(({ ok }) => ok);
}

/** What a reader must know to compare: the machine, the versions, the load. */
function describe({ jobs, hooks, rounds }: Options, { receiver, postgresVersion }: World): string {
  const [first] = cpus();
  const memoryGb = Math.round(totalmem() / 2 ** 30);
  return [
    `${cpus().length} × ${first?.model.trim() ?? 'unknown CPU'}`,
    `${memoryGb} GB`,
    `Node ${process.versions.node}`,
    `Postgres ${postgresVersion}`,
    `receiver ${receiver.kind}`,
    `${jobs.toLocaleString('en')} jobs of 1 KB to ${hooks.toLocaleString('en')} hooks`,
    `median of ${rounds} ${rounds === 1 ? 'round' : 'rounds'}`,
  ].join(', ');
}
