import { readFileSync } from 'node:fs';

import { Command } from 'commander';

import { addAccountCommands } from './commands/account.js';
import { addAuditCommands } from './commands/audit.js';
import { addEventCommands } from './commands/event.js';
import { addHookCommands } from './commands/hooks.js';
import { addJobCommands } from './commands/jobs.js';
import { addKeyCommands } from './commands/keys.js';
import { addLaneCommands } from './commands/lanes.js';
import { addMailCommands } from './commands/mail.js';
import { addMigrate } from './commands/migrate.js';
import { addOutboxCommands } from './commands/outbox.js';
import { addPrune } from './commands/prune.js';
import { addRepoCommands } from './commands/repo.js';
import { addSettings } from './commands/settings.js';
import { addStatus } from './commands/status.js';
import { addTokenCommands } from './commands/token.js';
import type { Context } from './context.js';

const EPILOGUE = `
Examples:
  npx ghost migrate                          make or update the tables
  npx ghost account add ada --email ada@example.com --admin
  npx ghost token add ada --scope repo --expires 90d
  npx ghost repo list --owner ada            how many watch it, its threads and hooks
  npx ghost audit list --repo ada/demo       who changed who may do what
  npx ghost status                           how much waits where
  npx ghost outbox list                      events that fan-out could not handle
  npx ghost event show <id>                  who got it, who did not and why
  npx ghost lanes resume hook:12             send what a held hook kept
  npx ghost mail test ada@example.com        send a test mail, and tell each step
  npx ghost prune --dry-run                  what is older than GHOST_RETENTION_DAYS
  npx ghost hooks rotate-secret 12           a new secret; the old one signs too for 24 hours

Environment: DATABASE_URL names the database; "npx ghost settings" lists all variables.
Exit codes: 0 done, 1 failed or something is missing, 69 the database is out of reach,
78 a setting, a key or the database's version is wrong.`;

const PACKAGE = new URL('../package.json', import.meta.url);

/** The command line of an operator. */
export function createProgram(context: Context): Command {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string };
  const program = new Command('ghost')
    .version(version)
    .description('What an operator of Ghost Delivery does.')
    .showHelpAfterError('(add --help for more)')
    .configureHelp({ showGlobalOptions: false })
    .addHelpText('after', EPILOGUE)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.print(text.replace(/\n$/u, '')),
      writeErr: (text) => context.note(text.replace(/\n$/u, '')),
    });
  addMigrate(program, context);
  addAccountCommands(program, context);
  addTokenCommands(program, context);
  addRepoCommands(program, context);
  addAuditCommands(program, context);
  addMailCommands(program, context);
  addOutboxCommands(program, context);
  addEventCommands(program, context);
  addJobCommands(program, context);
  addLaneCommands(program, context);
  addHookCommands(program, context);
  addStatus(program, context);
  addPrune(program, context);
  addSettings(program, context);
  addKeyCommands(program, context);
  return program;
}
