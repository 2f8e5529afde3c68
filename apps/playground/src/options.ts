import path from 'node:path';
import { parseArgs } from 'node:util';

import { EXIT } from '@ghost/settings';

import { PlaygroundError } from './playground-error.js';

const DEFAULT_COMMENTS = 20;
const MAX_COMMENTS = 1000;
const DEFAULT_TIMEOUT_SECONDS = 120;
const MAX_TIMEOUT_SECONDS = 3600;
const MAX_PORT = 65_535;

export interface Options {
  help: boolean;
  once: boolean;
  reset: boolean;
  /** The API's port; null: 3000, or a free one when that is taken. */
  port: number | null;
  comments: number;
  timeoutMs: number;
  /** Where everything is kept. */
  folder: string;
}

export const HELP = `The playground: an embedded Postgres, the API, the delivery process, a mail catcher and a
webhook receiver, with demo accounts, from one command. Everything it keeps is in .ghost/.

  npm start                     run until Ctrl-C; prints one curl that posts a comment
  npm start -- --once           post comments, wait for every delivery, print who got what, stop;
                                exit 0 when all is verified, 1 with the reason when not
  npm start -- --reset          throw away what .ghost/ holds, then start anew

Options
  --once              as above
  --comments N        how many comments --once posts (default ${DEFAULT_COMMENTS})
  --timeout SECONDS   how long --once waits for them (default ${DEFAULT_TIMEOUT_SECONDS})
  --port N            the API's port (default: PORT, else 3000, or a free one when that is taken)
  --reset             as above, keys and tokens included; a database of DATABASE_URL is not touched
  --dir FOLDER        use another folder than .ghost/
  --help              this text

Environment
  DATABASE_URL        use that Postgres instead of the embedded one
  GHOST_*             passed on to the API and the delivery process (npx ghost settings lists them);
                      with GHOST_SMTP_URL mails go to that relay and not to the catcher
`;

/**
 * Reads the command line.
 * @param defaultFolder - what --dir is without being given
 * @throws PlaygroundError for anything that is not in {@link HELP}
 */
export function readOptions(args: readonly string[], defaultFolder: string): Options {
  const { values } = parse(args);
  refuseIdle(values);
  return {
    help: values.help ?? false,
    once: values.once ?? false,
    reset: values.reset ?? false,
    port: values.port === undefined ? null : wholeNumber('--port', values.port, 1, MAX_PORT),
    comments: wholeNumber(
      '--comments',
      values.comments ?? String(DEFAULT_COMMENTS),
      1,
      MAX_COMMENTS,
    ),
    timeoutMs:
      wholeNumber(
        '--timeout',
        values.timeout ?? String(DEFAULT_TIMEOUT_SECONDS),
        1,
        MAX_TIMEOUT_SECONDS,
      ) * 1000,
    folder: path.resolve(readFolder(values.dir) ?? defaultFolder),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', short: 'h' },
        once: { type: 'boolean' },
        reset: { type: 'boolean' },
        port: { type: 'string' },
        comments: { type: 'string' },
        timeout: { type: 'string' },
        dir: { type: 'string' },
      },
    });
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new PlaygroundError(EXIT.failed, `${message}\nSee: npm start -- --help`, { cause });
  }
}

/** What would do nothing was meant to do something. */
function refuseIdle(values: { once?: boolean; comments?: string; timeout?: string }): void {
  for (const name of ['comments', 'timeout'] as const) {
    if (values[name] === undefined || values.once === true) continue;
    throw new PlaygroundError(
      EXIT.failed,
      `--${name} does something only with --once: npm start -- --once --${name} ${values[name]}`,
    );
  }
}

/** An empty one is a variable that was not set, and would be the folder one is in. */
function readFolder(given: string | undefined): string | undefined {
  if (given?.trim() !== '') return given;
  throw new PlaygroundError(EXIT.failed, '--dir is empty: it must name a folder.');
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (/^\d+$/u.test(text) && value >= least && value <= most) return value;
  throw new PlaygroundError(
    EXIT.failed,
    `${name} must be a whole number from ${least} to ${most}, not "${text}".`,
  );
}
