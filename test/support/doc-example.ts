import { readFileSync } from 'node:fs';

const DOC = new URL('../../docs/receiving-webhooks.md', import.meta.url);

/** The code of an example of docs/receiving-webhooks.md, by the name of its file. */
export function docExample(name: string): string {
  const mark = `<!-- example: ${name}`;
  const [, after, ...more] = readFileSync(DOC, 'utf8').split(mark);
  const code = /^[^\n]*-->\n```\w+\n(.*?)^```$/msu.exec(after ?? '')?.[1];
  if (code === undefined || more.length > 0) {
    throw new Error(`docs/receiving-webhooks.md has not one example ${name}`);
  }
  return code;
}
