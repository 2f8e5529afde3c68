import type { TestProject } from 'vitest/node';
import { startTestServer } from './support/test-server.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** A database of the test server; `createTestDatabase` connects to it to make others. */
    databaseBaseUrl: string;
    /** The name of the migrated database that test databases are copied from. */
    databaseTemplate: string;
  }
}

/** Starts the one Postgres of the test run; what it returns stops it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startTestServer();
  project.provide('databaseBaseUrl', server.baseUrl);
  project.provide('databaseTemplate', server.template);
  return async () => {
    try {
      await server.stop();
    } catch (error) {
      // Vitest only prints it.
      process.exitCode = 1;
      throw error;
    }
  };
}
