import { InvalidArgumentError } from 'commander';

export function readRepo(text: string): string {
  if (/^[^/\s]+\/[^/\s]+$/u.test(text)) return text;
  throw new InvalidArgumentError('It must have the form owner/name.');
}
