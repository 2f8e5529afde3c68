import { CommandError } from './command-error.js';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iu;

/**
 * An id as the database takes it.
 * @throws CommandError
 */
export function requireId(text: string, what: 'event' | 'job'): string {
  if (UUID.test(text)) return text.toLowerCase();
  throw new CommandError(
    `"${text}" is no ${what} id: it must be a UUID, as "npx ghost jobs list" shows it.`,
  );
}
