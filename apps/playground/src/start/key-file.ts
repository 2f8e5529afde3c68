import { chmod, readFile, rename, writeFile } from 'node:fs/promises';

import { EXIT } from '@ghost/settings';
import { generateKeyEntry, parseKeyRing } from '@ghost/vault';

import { PlaygroundError } from '../playground-error.js';

const OWNER_ONLY = 0o600;

/**
 * The playground's key ring, in the form of GHOST_SECRET_KEYS; made at its first use.
 * @throws PlaygroundError when somebody edited it into no key ring
 */
export async function readOrMakeKeys(file: string): Promise<string> {
  try {
    const kept = await readFile(file, 'utf8');
    await chmod(file, OWNER_ONLY);
    return requireKeys(kept.trim(), file);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
  const made = generateKeyEntry('playground');
  // Whole or not at all: half a key would keep every later start from working.
  const draft = `${file}.new`;
  await writeFile(draft, `${made}\n`, { mode: OWNER_ONLY });
  await rename(draft, file);
  return made;
}

function requireKeys(text: string, file: string): string {
  const parsed = parseKeyRing(text);
  if (parsed.ok) return text;
  throw new PlaygroundError(
    EXIT.config,
    `The playground's key file ${file} cannot be used: ${parsed.faults.join('; ')}. ` +
      'Put its earlier content back (ID:KEY), or start anew: npm start -- --reset',
  );
}
