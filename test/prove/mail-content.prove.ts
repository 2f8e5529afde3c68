import { commentPayload } from '../support/comment-payload.js';
import { HOSTILE_MARKDOWN } from '../support/hostile-markdown.js';
import { unsafeTags } from '../support/html-check.js';
import { loadSource } from '../support/load-source.js';
import { refusedByLimits } from '../support/mail-limits.js';
import type * as mimeOfSource from '../support/mime-of.js';
import { progress } from '../support/progress.js';
import type { ProofRow } from '../support/proof-world.js';
import { median } from '../support/quantile.js';

export const name = 'Whatever a comment holds, its mail is safe, bounded and soon rendered';

/** Large providers hide what is beyond 102 KB. */
const MOST_BYTES = 100_000;
const MOST_RENDER_MS = 50;
const RENDERS = 20;
const WARM_UP_RENDERS = 5;
const MORE = 'Read on: there is more of it on Ghost.';

interface Rendered {
  what: string;
  bytes: number;
  renderMs: number;
  faults: readonly string[];
}

export async function* run(): AsyncGenerator<ProofRow> {
  const source = await loadSource<typeof mimeOfSource>('test/support/mime-of.ts');
  const all: Rendered[] = [];
  for (const [what, body] of Object.entries(HOSTILE_MARKDOWN)) {
    const rendered = await render(source, what, body);
    progress(`${rendered.renderMs.toFixed(1)} ms, ${rendered.bytes} bytes: ${what}`);
    all.push(rendered);
  }
  const faulty = all.filter(({ faults }) => faults.length > 0);
  yield {
    what: `hostile comments whose mail is safe, of ${all.length}`,
    figure: String(all.length - faulty.length),
    bound: faulty.map(({ what, faults }) => `${what}: ${faults[0]}`).join('; ') || 'all',
    ok: faulty.length === 0,
  };
  const largest = all.reduce((a, b) => (b.bytes > a.bytes ? b : a));
  yield {
    what: `largest mail as it is sent (${largest.what})`,
    figure: `${largest.bytes.toLocaleString('en')} bytes`,
    bound: `≤ ${MOST_BYTES.toLocaleString('en')} bytes`,
    ok: largest.bytes <= MOST_BYTES,
  };
  const slowest = all.reduce((a, b) => (b.renderMs > a.renderMs ? b : a));
  yield {
    what: `slowest mail, median of ${RENDERS} (${slowest.what})`,
    figure: `${slowest.renderMs.toFixed(1)} ms`,
    bound: `≤ ${MOST_RENDER_MS} ms`,
    ok: slowest.renderMs <= MOST_RENDER_MS,
  };
}

async function render(
  { messageOf, mimeOf }: typeof mimeOfSource,
  what: string,
  body: string,
): Promise<Rendered> {
  const event = {
    type: 'comment.created' as const,
    payload: commentPayload({ ownerId: 1, repositoryId: 2, threadId: 3 }, 1, body),
    createdAt: new Date(),
  };
  for (let n = 0; n < WARM_UP_RENDERS; n += 1) messageOf(event);
  const took: number[] = [];
  for (let n = 0; n < RENDERS; n += 1) {
    const from = performance.now();
    messageOf(event);
    took.push(performance.now() - from);
  }
  const message = messageOf(event);
  const { raw } = await mimeOf(message);
  const [, said = '', foot = ''] =
    /<body><div class="said" dir="auto">\n(.*)\n<\/div><div class="foot">\n(.*)$/su.exec(
      message.html ?? '',
    ) ?? [];
  const faults = unsafeTags(said).map((tag) => tag.slice(0, 80));
  if (!foot.startsWith('<a href="https://ghost.example/')) faults.push('no foot of ours');
  // All of these are longer than what is shown.
  if (!said.includes(MORE)) faults.push('nothing leads to the rest');
  const refused = refusedByLimits(raw);
  if (refused) faults.push(refused.text);
  return { what, bytes: raw.length, renderMs: median(took), faults };
}
