import { SourceMap } from 'node:module';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What `node --cpu-prof` writes. */
export interface CpuProfile {
  nodes: {
    id: number;
    callFrame: { functionName: string; url: string; lineNumber: number; columnNumber: number };
  }[];
  samples: number[];
  timeDeltas: number[];
}

export interface Share {
  name: string;
  /** 0 to 1, of the time that the main thread was not idle. */
  share: number;
}

type CallFrame = CpuProfile['nodes'][number]['callFrame'];

const PACKAGE = /node_modules\/((?:@[^/]+\/)?[^/]+)/u;
const OUR_FILE = /((?:apps|packages)\/[^/]+)\/(?:src|dist)\/(.+?)\.(?:ts|js)$/u;
/** What belongs together. */
const PARTS: Record<string, string> = {
  pg: 'pg',
  'pg-pool': 'pg',
  'pg-protocol': 'pg',
  'pg-types': 'pg',
  'postgres-date': 'pg',
  'postgres-array': 'pg',
  'postgres-bytea': 'pg',
  'postgres-interval': 'pg',
  'sonic-boom': 'pino',
  '@pinojs/redact': 'pino',
  'pino-std-serializers': 'pino',
};

/** Shares of the busy time by part: ours in all, each package, Node's internals, system calls, GC. */
export function sharesByPart(profile: CpuProfile): Share[] {
  return shares(profile, (frame) => (OUR_FILE.test(sourceOf(frame)) ? 'ours' : partOf(frame)));
}

/** Shares of the busy time by file of ours. */
export function sharesByOurFile(profile: CpuProfile): Share[] {
  return shares(profile, (frame) => {
    const match = OUR_FILE.exec(sourceOf(frame));
    return match === null ? null : `${match[1]}: ${match[2]}`;
  });
}

function shares(profile: CpuProfile, nameOf: (frame: CallFrame) => string | null): Share[] {
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  const times = new Map<string, number>();
  let busy = 0;
  for (const [index, id] of profile.samples.entries()) {
    const frame = frames.get(id);
    const time = profile.timeDeltas[index] ?? 0;
    if (frame === undefined || frame.functionName === '(idle)') continue;
    busy += time;
    const name = nameOf(frame);
    if (name !== null) times.set(name, (times.get(name) ?? 0) + time);
  }
  return [...times]
    .map(([name, time]) => ({ name, share: time / busy }))
    .sort((one, other) => other.share - one.share);
}

function partOf(frame: CallFrame): string {
  const { functionName, url } = frame;
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (functionName.startsWith('(')) return 'engine';
  const source = sourceOf(frame);
  const name = source.slice(source.lastIndexOf('node_modules/')).match(PACKAGE)?.[1];
  if (name !== undefined) return PARTS[name] ?? name;
  if (url.startsWith('wasm:')) return 'undici';
  if (url === '') return SYSTEM_CALLS.has(functionName) ? 'system calls: writes' : 'engine';
  return nodePart(url);
}

const SYSTEM_CALLS = new Set(['writev', 'writeBuffer', 'writeString', 'writeUtf8String']);

function nodePart(url: string): string {
  if (/crypto/u.test(url)) return 'node: crypto';
  if (/net|stream|tls|tty/u.test(url)) return 'node: sockets and streams';
  if (/timers|task_queues|async_hooks|promises/u.test(url)) return 'node: timers and microtasks';
  if (/event_target|abort_controller|events/u.test(url)) return 'node: events and abort signals';
  if (/modules|loader|main/u.test(url)) return 'node: loading modules';
  return 'node: other';
}

const maps = new Map<string, SourceMap | null>();
/** The file that a frame was written in, by the source map beside the built one. */
function sourceOf({ url, lineNumber, columnNumber }: CallFrame): string {
  if (!url.startsWith('file:')) return '';
  const entry = mapOf(url)?.findEntry(lineNumber, columnNumber);
  return entry && 'originalSource' in entry ? entry.originalSource : url;
}

function mapOf(url: string): SourceMap | null {
  const known = maps.get(url);
  if (known !== undefined) return known;
  const file = `${fileURLToPath(url)}.map`;
  const map = existsSync(file) ? readMap(file) : null;
  maps.set(url, map);
  return map;
}

function readMap(file: string): SourceMap {
  const payload = JSON.parse(readFileSync(file, 'utf8')) as ConstructorParameters<
    typeof SourceMap
  >[0];
  // Its paths are relative to it.
  const sources = payload.sources.map((source) => new URL(source, `file://${file}`).href);
  return new SourceMap({ ...payload, sources });
}
