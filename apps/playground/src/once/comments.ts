import { readdir, readFile, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';

import { MAX_COMMENT_CHARACTERS } from '@ghost/contract';

import { type DemoComment, OWN_COMMENTS } from './own-comments.js';

const EXAMPLES = '@octokit/webhooks-examples';
const COMMENT_EVENTS = [
  'issue_comment',
  'commit_comment',
  'discussion_comment',
  'pull_request_review_comment',
  'issues',
];
const README = /^readme\.(?:md|markdown)$/iu;
const TRANSLATED = /^readme[._-](?:zh|cn|tw|ja|jp|ko)[^/]*\.(?:md|markdown)$/iu;
/** Enough packages to find tables, code and emoji; the rest would only cost time. */
const MAX_PACKAGES = 600;
const MAX_TRANSLATED = 4;
const MAX_README_BYTES = 512 * 1024;
const FEATURES: { name: string; fits: RegExp }[] = [
  { name: 'a table', fits: /^\|.*\|\s*\n\|[\s:|-]+\|/mu },
  { name: 'code blocks', fits: /^```\w+[\s\S]*^```/mu },
  { name: 'emoji', fits: /\p{Extended_Pictographic}/u },
];

/**
 * Texts that people wrote: the comments in `@octokit/webhooks-examples`, READMEs of installed
 * packages (Chinese and Japanese ones first), and a few of our own for what may be missing there.
 * One is as long as a comment may be. They repeat when more are asked for than there are.
 * @param modules - a `node_modules` folder; one without READMEs leaves the examples and our own
 */
export async function loadComments(count: number, modules: string): Promise<DemoComment[]> {
  const [examples, readmes] = await Promise.all([loadExamples(), loadReadmes(modules)]);
  // Taken in turn, so that a small count has some of each.
  const kinds = [examples, readmes.translated, OWN_COMMENTS, readmes.featured];
  const all: DemoComment[] = [longComment([...readmes.featured, ...readmes.translated])];
  for (let turn = 0; kinds.some((kind) => turn < kind.length); turn += 1) {
    for (const kind of kinds) all.push(...kind.slice(turn, turn + 1));
  }
  return Array.from({ length: count }, (_, index) => all[index % all.length] as DemoComment);
}

async function loadExamples(): Promise<DemoComment[]> {
  const file = createRequire(import.meta.url).resolve(EXAMPLES);
  const list = JSON.parse(await readFile(file, 'utf8')) as { name: string; examples: unknown[] }[];
  const found = new Map<string, DemoComment>();
  for (const event of COMMENT_EVENTS) {
    for (const example of list.find((one) => one.name === event)?.examples ?? []) {
      const body = bodyOf(example);
      if (body !== undefined && !found.has(body)) {
        found.set(body, { source: `${event} example`, body });
      }
    }
  }
  return [...found.values()];
}

function bodyOf(example: unknown): string | undefined {
  for (const part of ['comment', 'issue']) {
    const holder: unknown = Object(example)[part];
    const body: unknown = Object(holder).body;
    if (typeof body === 'string' && body.trim() !== '') return body;
  }
  return undefined;
}

interface Readmes {
  translated: DemoComment[];
  /** One for each of the features. */
  featured: DemoComment[];
}

async function loadReadmes(modules: string): Promise<Readmes> {
  const found: Readmes = { translated: [], featured: [] };
  const missing = new Set(FEATURES);
  for (const folder of await packageFolders(modules)) {
    const names = await readdir(folder).catch(() => []);
    for (const name of names.filter((one) => TRANSLATED.test(one)).toSorted(byName)) {
      if (found.translated.length >= MAX_TRANSLATED) break;
      const comment = await readComment(modules, path.join(folder, name));
      if (comment) found.translated.push(comment);
    }
    if (missing.size === 0) continue;
    const main = names.find((name) => README.test(name));
    const comment = main && (await readComment(modules, path.join(folder, main)));
    if (!comment) continue;
    const feature = [...missing].find((one) => one.fits.test(comment.body));
    if (!feature) continue;
    missing.delete(feature);
    found.featured.push({ ...comment, source: `${comment.source} (${feature.name})` });
  }
  return found;
}

/** The folders of packages, those of scopes included, in a stable order. */
async function packageFolders(modules: string): Promise<string[]> {
  const folders: string[] = [];
  for (const name of (await readdir(modules).catch(() => [])).toSorted(byName)) {
    if (name.startsWith('.')) continue;
    const folder = path.join(modules, name);
    if (!name.startsWith('@')) folders.push(folder);
    else {
      const scoped = await readdir(folder).catch(() => []);
      folders.push(...scoped.toSorted(byName).map((inner) => path.join(folder, inner)));
    }
    if (folders.length >= MAX_PACKAGES) break;
  }
  return folders;
}

function byName(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** A README as a comment, cut to what a comment may have; undefined when it is none. */
async function readComment(modules: string, file: string): Promise<DemoComment | undefined> {
  try {
    if ((await stat(file)).size > MAX_README_BYTES) return undefined;
    const text = await readFile(file, 'utf8');
    if (text.trim() === '' || text.includes('\0')) return undefined;
    return { source: path.relative(modules, file), body: cut(text, MAX_COMMENT_CHARACTERS) };
  } catch {
    return undefined;
  }
}

/** A comment of exactly as many characters (code points) as are allowed. */
function longComment(parts: readonly DemoComment[]): DemoComment {
  const text = [...parts, ...OWN_COMMENTS].map((part) => part.body).join('\n\n---\n\n');
  const times = Math.ceil(MAX_COMMENT_CHARACTERS / [...text].length);
  const body = cut(text.repeat(times), MAX_COMMENT_CHARACTERS);
  return { source: `READMEs, ${MAX_COMMENT_CHARACTERS} characters`, body: endVisibly(body) };
}

/** A blank at the end would be lost in the plain text of a mail. */
function endVisibly(text: string): string {
  const characters = [...text];
  characters[characters.length - 1] = '∎';
  return characters.join('');
}

function cut(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return [...text].slice(0, characters).join('');
}
