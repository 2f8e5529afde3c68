import {
  FILTER_FIELD_NAMES,
  HOOK_EVENT_TYPES,
  type HookFilter,
  hookFilters,
} from '@ghost/contract';
import {
  changeHookAsOperator,
  DEFAULT_OVERLAP_HOURS,
  type GivenToHook,
  type HookChange,
  judgeHook,
  MAX_OVERLAP_HOURS,
  MAX_PER_MINUTE,
  rotateSecretAsOperator,
  type SetSecret,
} from '@ghost/operations';
import { EXIT, type Settings } from '@ghost/settings';
import { createPostgresQueue } from '@ghost/queue';
import { type Command, InvalidArgumentError } from 'commander';

import { CommandError } from '../command-error.js';
import { type Context, withPool } from '../context.js';
import { readId } from '../page.js';
import { formatTime, printJson } from '../print.js';
import { readWholeNumber } from '../read-whole-number.js';

const ALL_EVENTS = '*';
const NO_RATE = 'none';
const KNOWN: ReadonlySet<string> = new Set([ALL_EVENTS, ...HOOK_EVENT_TYPES]);

interface EditOptions {
  url?: string;
  events?: string[];
  filters?: HookFilter[];
  active?: boolean;
  insecureSsl?: boolean;
  githubSignature?: boolean;
  rateLimit?: number | typeof NO_RATE;
  headersStdin?: boolean;
  removeHeader?: string[];
  json?: boolean;
}

interface RotateOptions {
  overlapHours: number;
  secretStdin?: boolean;
  json?: boolean;
}

/** The commands that change what people set of a hook. */
export function addHookChanges(hooks: Command, context: Context): void {
  addEdit(hooks, context);
  addRotate(hooks, context);
}

function addEdit(hooks: Command, context: Context): void {
  hooks
    .command('edit')
    .description('change a hook; what is not named stays')
    .argument('<id>', 'as "hooks list" shows it', readId)
    .option('--url <url>', 'where it leads')
    .option('--events <list>', 'what it gets, parted by commas; "*": all', readEvents)
    .option(
      '--filters <json>',
      'what must hold of an event besides, in place of what is set; [] for nothing',
      readFilters,
    )
    .option('--active <yes|no>', 'whether new events are sent to it', readYes)
    .option('--insecure-ssl <yes|no>', 'whether its certificate is left unverified', readYes)
    .option('--github-signature <yes|no>', 'whether x-hub-signature-256 is sent too', readYes)
    .option(
      '--rate-limit <n|none>',
      'most deliveries in any minute, tries again included',
      readRate,
    )
    .option('--headers-stdin', 'set custom headers: lines of standard input, "name: value"')
    .option('--remove-header <name>', 'remove a custom header; repeatable', addName)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `\nExamples:\n  npx ghost hooks edit 12 --url https://ci.example/ghost\n  echo "authorization: Bearer $KEY" | npx ghost hooks edit 12 --headers-stdin\n  npx ghost hooks edit 12 --remove-header authorization\n  npx ghost hooks edit 12 --filters '[{"field":"sender.login","is_not":["robot"]}]'\n\nFields of filters: ${FILTER_FIELD_NAMES.join(', ')}.`,
    )
    .action((id: number, options: EditOptions) =>
      withPool(context, async (pool, settings) => {
        const { url, headers } = judged(settings, {
          url: options.url,
          headers: await headersOf(context, options),
        });
        const change: HookChange = {
          url,
          headers,
          events: options.events,
          filters: options.filters,
          active: options.active,
          insecureSsl: options.insecureSsl,
          githubSignature: options.githubSignature,
          rateLimit: options.rateLimit === NO_RATE ? null : options.rateLimit,
        };
        const queue = createPostgresQueue({ pool });
        const { changed } = await changeHookAsOperator(pool, queue, ringOf(settings), id, change);
        if (options.json) printJson(context, { id, changed });
        else if (changed.length === 0) context.print(`Hook ${id} is so already.`);
        else context.print(`Changed of hook ${id}: ${changed.join(', ')}.`);
      }),
    );
}

function addRotate(hooks: Command, context: Context): void {
  hooks
    .command('rotate-secret')
    .description('give a hook a new secret; the one before signs too for a while')
    .argument('<id>', 'as "hooks list" shows it', readId)
    .option(
      '--overlap-hours <n>',
      `how long the one before signs too, 0 to ${MAX_OVERLAP_HOURS}; 0: it ends at once`,
      readOverlap,
      DEFAULT_OVERLAP_HOURS,
    )
    .option('--secret-stdin', 'take the secret from standard input (default: one is generated)')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nThe secret that is made goes to standard output, once.\n\nExamples:\n  npx ghost hooks rotate-secret 12\n  npx ghost hooks rotate-secret 12 --overlap-hours 0 --secret-stdin < secret.txt',
    )
    .action((id: number, { overlapHours, secretStdin = false, json }: RotateOptions) =>
      withPool(context, async (pool, settings) => {
        const secret = secretStdin ? (await context.input()).replace(/\r?\n$/u, '') : null;
        judged(settings, { secret });
        const rotated = await rotateSecretAsOperator(pool, ringOf(settings), id, {
          secret,
          overlapHours,
        });
        if (json) {
          printJson(context, { id, ...rotated });
          return;
        }
        const { oldSecretUntil } = rotated;
        context.note(
          oldSecretUntil === null
            ? `Hook ${id} has a new secret; the one before has ended.`
            : `Hook ${id} has a new secret; the one before signs too until ${formatTime(oldSecretUntil)}.`,
        );
        tellSecret(context, rotated);
      }),
    );
}

function tellSecret(context: Context, { generated, standard }: SetSecret): void {
  if (generated !== null) {
    context.note('It is shown only now:');
    context.print(generated);
  }
  if (standard !== null) {
    context.note('For Standard Webhooks libraries it is, shown only now:');
    context.print(standard);
  }
}

/** @throws CommandError with every fault of what was given */
function judged<Given extends GivenToHook>(
  { addressPolicy }: Settings<'cli'>,
  given: Given,
): Given & { url: string | undefined } {
  const { faults, url, refusal } = judgeHook(given, addressPolicy);
  if (faults.length === 0) return { ...given, url };
  const setting = refusal?.setting == null ? '' : ` (ruled by ${refusal.setting})`;
  const why = refusal === null ? [] : [`It is refused as: ${refusal.what}${setting}.`];
  throw new CommandError([...faults.map(({ message }) => message), ...why].join('\n'), EXIT.failed);
}

function ringOf({ keyRing }: Settings<'cli'>) {
  if (keyRing !== null) return keyRing;
  throw new CommandError('GHOST_SECRET_KEYS is not set: nothing can be sealed.', EXIT.config);
}

async function headersOf(context: Context, options: EditOptions): Promise<HookHeaders | undefined> {
  const { headersStdin = false, removeHeader: removed = [] } = options;
  if (!headersStdin && removed.length === 0) return undefined;
  const given = headersStdin ? readHeaders(await context.input()) : [];
  return Object.fromEntries([...removed.map((name) => [name, null] as const), ...given]);
}
type HookHeaders = NonNullable<GivenToHook['headers']>;

/** Lines are named by their number alone: one without a colon may be a key. */
function readHeaders(text: string): [name: string, value: string][] {
  return text.split(/\r?\n/u).flatMap((line, index) => {
    if (line.trim() === '') return [];
    const colon = line.indexOf(':');
    if (colon > 0) return [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()]];
    throw new CommandError(`Line ${index + 1} is no header: "name: value".`, EXIT.failed);
  });
}

function readEvents(text: string): string[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))];
  const unknown = names.find((name) => !KNOWN.has(name));
  if (unknown === undefined) return names.includes(ALL_EVENTS) ? [ALL_EVENTS] : names;
  throw new InvalidArgumentError(
    `There is no event "${unknown}". Known are: ${[...KNOWN].join(', ')}.`,
  );
}

/** In the form of the API, with the same bounds. */
function readFilters(text: string): HookFilter[] {
  const read = hookFilters.safeParse(parseJson(text));
  if (read.success) return read.data;
  throw new InvalidArgumentError(
    read.error.issues
      .map(({ path, message }) => `${path.length === 0 ? '' : `${path.join('.')}: `}${message}`)
      .join(' '),
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError('It must be JSON: [{"field":"sender.login","is":["ada"]}].');
  }
}

function readYes(text: string): boolean {
  if (text === 'yes' || text === 'no') return text === 'yes';
  throw new InvalidArgumentError('It must be yes or no.');
}

function readRate(text: string): number | typeof NO_RATE {
  if (text === NO_RATE) return NO_RATE;
  return readWholeNumber(text, 1, MAX_PER_MINUTE, ', or none');
}

function readOverlap(text: string): number {
  return readWholeNumber(text, 0, MAX_OVERLAP_HOURS);
}

function addName(text: string, before: string[] = []): string[] {
  return [...before, text];
}
