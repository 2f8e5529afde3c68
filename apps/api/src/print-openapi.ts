import { createPool } from '@ghost/db';
import { readSettings } from '@ghost/settings';
import { pino } from 'pino';

import { createApp } from './create-app.js';
import { ApiDocument } from './http/document.controller.js';

// Never dialled: the application is put together and does not run.
const NOWHERE = 'postgres://ghost@127.0.0.1:1/ghost';
const NO_SECRET = Buffer.from('the document shows no secret ...').toString('base64');

/** Prints the OpenAPI document, as an API with default settings would serve it. */
async function main(): Promise<void> {
  const settings = readSettings(
    { DATABASE_URL: NOWHERE, GHOST_SECRET_KEYS: `none:${NO_SECRET}` },
    'api',
  );
  const pool = createPool({
    connectionString: settings.databaseUrl,
    name: 'ghost openapi',
    max: 1,
    onError: () => undefined,
  });
  const app = await createApp({ settings, logger: pino({ level: 'silent' }), pool });
  process.stdout.write(app.get(ApiDocument).text);
  await pool.end();
}

await main();
