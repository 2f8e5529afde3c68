// The real API, except that its notifier kills the process at each comment that says so. Run by
// outbox-crash.test.ts from the build.

import { readSettings } from '@ghost/settings';

import { createApi } from '../../apps/api/dist/create-api.js';
import { NotifierService } from '../../apps/api/dist/notifier/notifier.service.js';

const POISON = 'poison';

function poisoned(instance) {
  if (!(instance instanceof NotifierService)) return instance;
  const page = instance.page.bind(instance);
  instance.page = (tx, event, cursor) => {
    if (event.payload.comment?.body === POISON) process.kill(process.pid, 'SIGKILL');
    return page(tx, event, cursor);
  };
  return instance;
}

await createApi({ settings: readSettings(process.env, 'api'), instrument: poisoned });
