import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { settingsMarkdown } from './describe-settings.js';

const OPERATING = new URL('../../../docs/operating.md', import.meta.url);

test('docs/operating.md lists every setting as the code has it', () => {
  const [, table] = readFileSync(OPERATING, 'utf8').split(/<!-- \/?settings.*-->\n/u);
  expect(table?.trim()).toBe(settingsMarkdown().trim());
});
