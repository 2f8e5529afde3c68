import pg from 'pg';

import { CONNECT_TIMEOUT_MS } from './pool.js';

/**
 * Runs `work` on a connection of its own, and ends it: for what a session holds, as an advisory lock, and for who has
 * no pool. What failed may have lost the connection: that is closed without a word to the server.
 */
export async function withClient<T>(
  config: pg.ClientConfig,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ ...config, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  // A connection cut between statements must fail the next one, not the process.
  client.on('error', () => undefined);
  await client.connect();
  let result: T;
  try {
    result = await work(client);
  } catch (error) {
    client.connection.stream.destroy();
    throw error;
  }
  await client.end();
  return result;
}
