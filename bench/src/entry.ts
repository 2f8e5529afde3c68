import { fileURLToPath } from 'node:url';

/** The built file of a part that runs as a process of its own; all stand in one folder. */
export function entry(name: string): string {
  return fileURLToPath(new URL(`${name}.js`, import.meta.url));
}
