import { queueConformance } from '../../conformance/queue-conformance.js';
import { postgresHarness } from '../../conformance/queue-harness.js';
import { createTestDatabase } from '../../../../test/support/test-database.js';

queueConformance('the Postgres engine', async () => {
  const database = await createTestDatabase();
  const harness = postgresHarness(database.url);
  return {
    ...harness,
    async close() {
      await harness.close();
      await database.drop();
    },
  };
});
