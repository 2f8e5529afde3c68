import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { MAX_COMMENT_CHARACTERS } from '@ghost/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { loadComments } from './comments.js';

let modules: string;

beforeAll(async () => {
  modules = await mkdtemp(path.join(tmpdir(), 'ghost-comments-'));
  const write = async (name: string, text: string) => {
    await mkdir(path.dirname(path.join(modules, name)), { recursive: true });
    await writeFile(path.join(modules, name), text);
  };
  await write('@scope/one/README.zh-CN.md', '# 你好，世界');
  await write('@scope/one/README.md', 'Nothing of interest.');
  await write('two/README.ja.md', '# こんにちは');
  await write('two/readme.md', '| a | b |\n|---|---|\n| 1 | 2 |\n');
  await write('three/README_CN.md', '长'.repeat(70_000));
  await write('two-more/readme.md', '| c | d |\n|---|---|\n| 3 | 4 |\n');
  await write('four/README.md', 'NUL \0 cannot be stored | a |');
});
afterAll(() => rm(modules, { recursive: true, force: true }));

const characters = (text: string) => [...text].length;

describe('loadComments', () => {
  test('brings comments of other people, translated READMEs, tables and our own texts', async () => {
    const comments = await loadComments(18, modules);
    const sources = comments.map((comment) => comment.source);
    expect(sources).toContain('@scope/one/README.zh-CN.md');
    expect(sources).toContain('two/README.ja.md');
    expect(sources).toContain('two/readme.md (a table)');
    // One README a feature is enough.
    expect(sources.join()).not.toContain('two-more');
    expect(sources).toContain('emoji and joiners');
    expect(sources.filter((source) => source.endsWith(' example')).length).toBeGreaterThan(3);
    expect(new Set(comments.map((comment) => comment.body)).size).toBe(18);
  });

  test('each can be posted, and one is as long as a comment may be', async () => {
    const comments = await loadComments(30, modules);
    for (const { body } of comments) {
      expect(characters(body)).toBeLessThanOrEqual(MAX_COMMENT_CHARACTERS);
      expect(body.trim()).not.toBe('');
      expect(body).not.toContain('\0');
      expect(body.isWellFormed()).toBe(true);
    }
    expect(characters(comments[0]?.body ?? '')).toBe(MAX_COMMENT_CHARACTERS);
  });

  test('without any README there is still enough, Chinese and Japanese included', async () => {
    const comments = await loadComments(20, path.join(modules, 'nowhere'));
    expect(comments).toHaveLength(20);
    expect(comments.some(({ body }) => /日本語/u.test(body) && /复现/u.test(body))).toBe(true);
  });

  test('they repeat when more are asked for than there are', async () => {
    const comments = await loadComments(200, modules);
    expect(comments).toHaveLength(200);
    expect(comments.at(-1)?.body).toBeTypeOf('string');
  });
});
