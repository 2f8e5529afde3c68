import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { build } from 'esbuild';

import { REPOSITORY } from './ghost-processes.js';

/**
 * Loads a module of apps/delivery outside of Vitest: of that app `tsc` makes types alone. Other packages are the built ones.
 * @param source - from the root of the repository
 */
export async function loadSource<Module>(source: string): Promise<Module> {
  const outfile = path.join(REPOSITORY, 'test/dist/loaded', source.replace(/\.ts$/u, '.js'));
  await build({
    entryPoints: [path.join(REPOSITORY, source)],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  });
  return (await import(pathToFileURL(outfile).href)) as Module;
}
