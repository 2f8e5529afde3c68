import { accessSync, constants } from 'node:fs';
import path from 'node:path';

/** Where a program stands on PATH; null when it does not. */
export function findProgram(name: string): string | null {
  const folders = (process.env['PATH'] ?? '')
    .split(path.delimiter)
    .filter((folder) => folder !== '');
  for (const folder of folders) {
    const file = path.join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not here.
    }
  }
  return null;
}
