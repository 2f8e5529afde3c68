import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { build, stop } from 'esbuild';

import { REPOSITORY } from './ghost-processes.js';

/**
 * Imports a module for a proof with all that it imports by a path, from the sources: the build has no
 * modules of delivery, only its bundle. Packages are the built ones.
 *
 * @param source - from the root of the repository
 */
export async function importFromSource<Module>(source: string): Promise<Module> {
  const outfile = path.join(REPOSITORY, 'test/dist/bundled', `${path.basename(source, '.ts')}.js`);
  await build({
    entryPoints: [path.join(REPOSITORY, source)],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    sourcemap: 'inline',
    logLevel: 'error',
  });
  await stop();
  return import(pathToFileURL(outfile).href);
}
