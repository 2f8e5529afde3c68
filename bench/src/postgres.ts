import pg from 'pg';

/** Runs statements on one connection, each by itself. */
export async function runSql(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

let made = 0;
/** Makes a database that is a copy of another; returns its URL. */
export async function createDatabaseFrom(serverUrl: string, template: string): Promise<string> {
  made += 1;
  const name = `bench_${made}`;
  // A copy of files, not of pages by WAL: the round starts with a short log.
  await runSql(serverUrl, [`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`]);
  return new URL(name, serverUrl).href;
}

/** @param url - as `createDatabaseFrom` gave it */
export async function dropDatabase(serverUrl: string, url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await runSql(serverUrl, [`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`]);
}
