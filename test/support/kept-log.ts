import { type Logger, pino } from 'pino';

/** A log at the usual level; its lines, each one JSON, are kept as they were written. */
export function keptLog(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  return { logger, lines };
}
