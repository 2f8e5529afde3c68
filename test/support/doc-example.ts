import { readFileSync } from 'node:fs';

/** The code of an example of a page of docs, by the name of its file. */
export function docExample(name: string, page = 'receiving-webhooks.md'): string {
  const mark = `<!-- example: ${name}`;
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  const [, after, ...more] = text.split(mark);
  const code = /^[^\n]*-->\n```\w+\n(.*?)^```$/msu.exec(after ?? '')?.[1];
  if (code === undefined || more.length > 0) {
    throw new Error(`docs/${page} has not one example ${name}`);
  }
  return code;
}
