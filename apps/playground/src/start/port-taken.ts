import { EXIT } from '@ghost/settings';

import { LOOPBACK } from '../embedded/ports.js';
import { PlaygroundError } from '../playground-error.js';

export function portTaken(port: number, cause?: unknown): PlaygroundError {
  return new PlaygroundError(
    EXIT.unavailable,
    `Port ${port} on ${LOOPBACK} is taken by another program. Stop that, or choose another: npm start -- --port N`,
    { cause },
  );
}
