import type { Summary } from './summary.js';
import { TITLES } from './titles.js';

const WIDTH = 720;
const LABELS_WIDTH = 170;
const VALUES_WIDTH = 90;
const BAR = 22;
const GAP = 12;
const TITLE_HEIGHT = 34;
const SECTION_GAP = 26;

interface Bar {
  label: string;
  value: number;
  text: string;
  ours: boolean;
}

/** Two sets of bars, throughput and latency, that follow the reader's light or dark theme. */
export function chartSvg(summaries: readonly Summary[], caption: string): string {
  const bar = (one: Summary, value: number, text: string): Bar => {
    const ours = one.contender === 'ours';
    return { label: TITLES[one.contender], value, text, ours };
  };
  const speeds = summaries.map((one) =>
    bar(one, one.jobsPerSecond, Math.round(one.jobsPerSecond).toLocaleString('en')),
  );
  const waits = summaries.flatMap((one) =>
    one.p99Ms === null ? [] : [bar(one, one.p99Ms, `${one.p99Ms.toFixed(1)} ms`)],
  );
  const first = section('Preloaded jobs a second (more is better)', speeds, 16);
  const second = section('Commit → receipt at 20 jobs/s, p99 (less is better)', waits, first.end);
  const height = second.end + 18;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="Throughput and latency of Ghost Delivery and its peers">
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .title { font-weight: 600; }
  .caption { font-size: 11px; fill: #59636e; }
  .peer { fill: #afb8c1; }
  .ours { fill: #0969da; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .caption { fill: #9198a1; }
    .peer { fill: #565d66; }
    .ours { fill: #4493f8; }
  }
</style>
${first.svg}
${second.svg}
<text class="caption" x="0" y="${height - 4}">${escaped(caption)}</text>
</svg>
`;
}

function section(title: string, bars: readonly Bar[], top: number): { svg: string; end: number } {
  const longest = Math.max(...bars.map(({ value }) => value), 1);
  const room = WIDTH - LABELS_WIDTH - VALUES_WIDTH;
  const rows = bars.map(({ label, value, text, ours }, index) => {
    const y = top + TITLE_HEIGHT + index * (BAR + GAP);
    const width = Math.max(1, Math.round((value / longest) * room));
    const base = y + BAR / 2 + 5;
    return [
      `<text x="${LABELS_WIDTH - 10}" y="${base}" text-anchor="end">${escaped(label)}</text>`,
      `<rect class="${ours ? 'ours' : 'peer'}" x="${LABELS_WIDTH}" y="${y}" width="${width}" height="${BAR}" rx="3"/>`,
      `<text x="${LABELS_WIDTH + width + 8}" y="${base}">${escaped(text)}</text>`,
    ].join('\n');
  });
  const heading = `<text class="title" x="0" y="${top + 14}">${escaped(title)}</text>`;
  return {
    svg: [heading, ...rows].join('\n'),
    end: top + TITLE_HEIGHT + bars.length * (BAR + GAP) + SECTION_GAP,
  };
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
