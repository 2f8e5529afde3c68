import type { LoggerService } from '@nestjs/common';
import type { Logger } from 'pino';

import { describeError } from '../describe-error.js';

/** Sends what Nest and services with Nest's `Logger` say to the process's log; Nest's own chatter at start is for debugging. */
export function nestLogger(logger: Logger): LoggerService {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error' | 'fatal') =>
    (message: unknown, ...rest: unknown[]): void => {
      const context = rest.at(-1);
      const fields = {
        event: 'nest',
        ...(typeof context === 'string' ? { context } : {}),
        ...(message instanceof Error ? describeError(message) : {}),
      };
      // What stops a start is thrown as well, and told once by whoever catches it.
      const shown = context === 'NestApplication' ? 'debug' : level;
      logger[shown](fields, message instanceof Error ? 'An error reached Nest' : String(message));
    };
  return {
    log: write('debug'),
    error: write('error'),
    warn: write('warn'),
    debug: write('debug'),
    verbose: write('debug'),
    fatal: write('fatal'),
  };
}
