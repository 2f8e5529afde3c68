import { chmod, readFile, rename, writeFile } from 'node:fs/promises';

import { generateKeyEntry } from '@ghost/vault';

const OWNER_ONLY = 0o600;

/** The playground's key ring, in the form of GHOST_SECRET_KEYS; made at its first use. */
export async function readOrMakeKeys(file: string): Promise<string> {
  try {
    const kept = await readFile(file, 'utf8');
    await chmod(file, OWNER_ONLY);
    return kept.trim();
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
