import { listRepositories, type RepositoryRow } from '@ghost/operations';
import type { Command } from 'commander';

import { type Context, withPool } from '../context.js';
import { addPaging, type Paging, pageOf } from '../page.js';
import { type Column, formatTime, printList } from '../print.js';

const COLUMNS: readonly Column<RepositoryRow>[] = [
  { title: 'ID', cell: (row) => row.id },
  { title: 'REPOSITORY', cell: (row) => `${row.owner}/${row.name}` },
  { title: 'VISIBILITY', cell: (row) => (row.private ? 'private' : 'public') },
  { title: 'MEMBERS', cell: (row) => row.members },
  { title: 'WATCHERS', cell: (row) => row.watchers },
  { title: 'THREADS', cell: (row) => row.threads },
  { title: 'HOOKS', cell: (row) => row.hooks },
  { title: 'CREATED', cell: (row) => formatTime(row.createdAt) },
];

export function addRepoCommands(program: Command, context: Context): void {
  const repo = program.command('repo').description('repositories of all accounts');
  addPaging(
    repo
      .command('list')
      .description('list repositories, the oldest first')
      .option('--owner <login>', 'only those of this account'),
  )
    .addHelpText(
      'after',
      '\nExamples:\n  npx ghost repo list\n  npx ghost repo list --owner ada --json',
    )
    .action(({ json, owner, ...paging }: Paging & { owner?: string }) =>
      withPool(context, async (pool) => {
        const filter = owner === undefined ? {} : { owner };
        const page = await pageOf(paging, (part) => listRepositories(pool, { ...filter, ...part }));
        printList(context, page.rows, COLUMNS, {
          json,
          empty: 'No such repositories.',
          more: page.more,
        });
      }),
    );
}
