import { migrate, migrationState } from '@ghost/db';
import type { Command } from 'commander';

import { type Context, settingsOf } from '../context.js';
import { printJson } from '../print.js';

export function addMigrate(program: Command, context: Context): void {
  program
    .command('migrate')
    .description("bring the database to this version's schema; safe to run again and at once")
    .option('--check', 'change nothing; exit 1 when a migration is missing')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  npx ghost migrate\n  npx ghost migrate --check || exit 1')
    .action(async (options: { check?: boolean; json?: boolean }) => {
      const { databaseUrl } = settingsOf(context);
      const before = await migrationState(databaseUrl);
      if (options.check) {
        if (options.json) printJson(context, before);
        else if (before.pending.length === 0) context.print('The database is up to date.');
        else context.print(`Missing: ${before.pending.join(', ')}. Run: npx ghost migrate`);
        if (before.pending.length > 0) context.fail();
        return;
      }
      if (before.pending.length > 0) context.note(`Applying ${before.pending.join(', ')} …`);
      const after = await migrate(databaseUrl);
      const applied = before.pending.filter((name) => !after.pending.includes(name));
      if (options.json) printJson(context, { applied, pending: after.pending });
      else if (applied.length === 0) context.print('The database was up to date.');
      else for (const name of applied) context.print(`Applied ${name}`);
    });
}
