import { expect, test } from 'vitest';
import { describeSettings, settingsHelp, settingsMarkdown } from './describe-settings.js';
import { SETTINGS } from './settings-table.js';

test('the table and the help name every setting, with meaning and default', () => {
  for (const name of Object.keys(SETTINGS)) {
    expect(settingsMarkdown()).toContain(`| \`${name}\` | `);
    expect(settingsHelp()).toContain(`  ${name}  (`);
  }
  for (const { what, who } of describeSettings()) {
    expect(what).toMatch(/\.$/);
    expect(who).not.toBe('');
  }
  expect(settingsMarkdown()).toContain('| `PORT` | API, delivery | `API 3000, delivery 3001` |');
  expect(settingsHelp()).toContain('GHOST_LEASE_MS  (delivery; 30000)');
});

test('each row of the table has its four cells', () => {
  for (const row of settingsMarkdown().trimEnd().split('\n')) {
    expect(row.split(/(?<!\\)\|/)).toHaveLength(6);
  }
});
