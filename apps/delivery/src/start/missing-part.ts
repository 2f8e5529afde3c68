import { EXIT } from '@ghost/settings';
import type { Logger } from 'pino';

/**
 * Watches work that loads a part of this program late. A part that is not there any more, since the
 * program was built anew meanwhile, ends the process: it would claim jobs over and over that it can
 * not send. Whoever started it starts the new program.
 */
export function endIfPartIsMissing(log: Logger, exit = (code: number): void => process.exit(code)) {
  return async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      if (Reflect.get(Object(error), 'code') === 'ERR_MODULE_NOT_FOUND') {
        log.fatal(
          { event: 'delivery.part_missing', err: error },
          'This program was built anew, or is not whole. Start it again.',
        );
        exit(EXIT.failed);
      }
      throw error;
    }
  };
}
