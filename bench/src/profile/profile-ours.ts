import { readdirSync, readFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import path from 'node:path';

import { ours } from '../contenders/ours.js';
import { runRound } from '../measure/run-round.js';
import type { Options } from '../options.js';
import { RESULTS } from '../results-folder.js';
import type { World } from '../world.js';
import { type CpuProfile, type Share, sharesByOurFile, sharesByPart } from './cpu-profile.js';

const LEAST_SHARE = 0.004;

/** Runs ours once under Node's profiler and prints what each part costs. */
export async function profileOurs(
  options: Options,
  world: World,
  say: (line: string) => void,
): Promise<void> {
  const { folder } = world.place;
  const nodeFlags = ['--cpu-prof', '--cpu-prof-dir', folder];
  const { preloaded } = await runRound(ours, { ...world, ...options, nodeFlags });
  say(`${Math.round(preloaded.jobsPerSecond).toLocaleString('en')} jobs/s under the profiler`);
  const file = readdirSync(folder).find((name) => name.endsWith('.cpuprofile'));
  if (file === undefined) throw new Error('Node wrote no profile.');
  const kept = path.join(RESULTS, 'ours.cpuprofile');
  await copyFile(path.join(folder, file), kept);
  const profile = JSON.parse(readFileSync(kept, 'utf8')) as CpuProfile;
  print('Share of the main thread, by part', sharesByPart(profile));
  print('Of that: our files', sharesByOurFile(profile));
  const { worker, store, receiver } = preloaded.cpuMsPerJob;
  console.log(
    `\nCPU-ms a job: worker ${worker.toFixed(3)} (profiler included), Postgres ${store?.toFixed(3)}, receiver ${receiver.toFixed(3)}`,
  );
  console.log(`The profile, for Chrome's developer tools: ${kept}`);
}

function print(title: string, shares: readonly Share[]): void {
  console.log(`\n${title}`);
  for (const { name, share } of shares) {
    if (share >= LEAST_SHARE) console.log(`${(share * 100).toFixed(1).padStart(6)} %  ${name}`);
  }
}
