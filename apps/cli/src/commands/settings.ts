import { describeSettings, type SettingDescription } from '@ghost/settings';
import type { Command } from 'commander';

import type { Context } from '../context.js';
import { type Column, printList } from '../print.js';

const COLUMNS: readonly Column<SettingDescription>[] = [
  { title: 'VARIABLE', cell: (row) => row.name },
  { title: 'WHO', cell: (row) => row.who },
  { title: 'DEFAULT', cell: (row) => row.default },
  { title: 'WHAT', cell: (row) => row.what },
];

export function addSettings(program: Command, context: Context): void {
  program
    .command('settings')
    .description('list every environment variable with its default and meaning')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  npx ghost settings | grep RETRY')
    .action(({ json }: { json?: boolean }) => {
      printList(context, describeSettings(), COLUMNS, { json, empty: '' });
    });
}
