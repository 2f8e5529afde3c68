import { AUDIT_SYSTEM, type AuditRow, findAccount, listAudit } from '@ghost/operations';
import { sqlOfPool } from '@ghost/queue';
import type { Command } from 'commander';

import { type Context, withPool } from '../context.js';
import { addPaging, type Paging, pageOf } from '../page.js';
import { type Column, formatTime, printList } from '../print.js';
import { readRepo } from '../read-repo.js';

interface ListOptions extends Paging {
  repo?: string;
  account?: string;
}

const COLUMNS: readonly Column<AuditRow>[] = [
  { title: 'ID', cell: (row) => row.id },
  { title: 'AT', cell: (row) => formatTime(row.at) },
  { title: 'ACTION', cell: (row) => row.action },
  {
    title: 'BY',
    cell: describeActor,
  },
  { title: 'ABOUT', cell: (row) => row.subject },
  { title: 'REPOSITORY', cell: (row) => row.repository },
  { title: 'DETAIL', cell: (row) => describeDetail(row.detail) },
];

export function addAuditCommands(program: Command, context: Context): void {
  const audit = program.command('audit').description('who changed who may do what');
  addPaging(
    audit
      .command('list')
      .description('list changes of access, the newest first')
      .option('--repo <owner/name>', 'only of this repository, as it was called then', readRepo)
      .option('--account <login>', 'only by or about this account'),
  )
    .addHelpText(
      'after',
      '\nExamples:\n  npx ghost audit list --repo ada/demo\n  npx ghost audit list --account ada --limit 1000 --json',
    )
    .action(({ json, repo, account, ...paging }: ListOptions) =>
      withPool(context, async (pool) => {
        const filter = {
          ...(repo === undefined ? {} : { repository: repo }),
          ...(account === undefined ? {} : { account }),
        };
        const page = await pageOf(paging, (part) => listAudit(pool, { ...filter, ...part }));
        // Whoever did nothing has no lines either, and a typing error would look the same.
        if (account !== undefined && page.rows.length === 0 && paging.after === undefined) {
          await findAccount(sqlOfPool(pool), { login: account });
        }
        printList(context, page.rows, COLUMNS, {
          json,
          empty: 'No such changes.',
          more: page.more,
        });
      }),
    );
}

/** No login has brackets: nobody can call themselves this. */
function describeActor({ actorId, actor, tokenId }: AuditRow): string {
  if (actorId === null) return actor === AUDIT_SYSTEM ? actor : '(command line)';
  return tokenId === null ? actor : `${actor} (token ${tokenId})`;
}

function describeDetail(detail: Readonly<Record<string, unknown>>): string {
  return Object.entries(detail)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(' ');
}
