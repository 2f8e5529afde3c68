import { mkdir } from 'node:fs/promises';
import path from 'node:path';

import type { Pool } from '@ghost/db';
import type { Settings } from '@ghost/settings';

import { createAnswers } from '../catchers/answers.js';
import { createControl } from '../catchers/control.js';
import { startMailCatcher } from '../catchers/mail-catcher.js';
import { type MailShelf, openMailShelf } from '../catchers/mail-shelf.js';
import { type Receiver, startReceiver } from '../catchers/receiver.js';
import { type ApiClient, createApiClient } from '../demo/api-client.js';
import { type DemoData, HOOK_PATHS, hookNameOf, prepareDemo } from '../demo/demo-data.js';
import { type DemoStateFile, openDemoState } from '../demo/demo-state.js';
import { findFreePort, isFree } from '../embedded/ports.js';
import { catchesMails, checkSettings } from './environment.js';
import { readOrMakeKeys } from './key-file.js';
import { portTaken } from './port-taken.js';
import { resumeHeld } from './resume-held.js';
import { startChildren } from './start-children.js';
import { startDatabase } from './start-database.js';
import type { StartParts } from './start-parts.js';

const PREFERRED_API_PORT = 3000;
/** Every third delivery has to be tried again, so that a retry can be seen. */
const FAILS_EVERY = 3;

/** Everything that runs, and where. */
export interface Playground {
  databaseUrl: string;
  embedded: boolean;
  pool: Pool;
  api: ApiClient;
  apiUrl: string;
  deliveryUrl: string;
  receiver: Receiver;
  mailsFolder: string;
  logsFolder: string;
  demoFile: string;
  demo: DemoData;
  /** False when mails go to a relay of the person's own. */
  catchesMails: boolean;
}

/** Starts everything, in the order in which each can use the others; the stack then stops it in reverse. */
export async function startPlayground(parts: StartParts): Promise<Playground> {
  const { options, env, halt } = parts;
  const settings = checkSettings(env);
  const apiPort = await chooseApiPort(parts, settings);
  const folders = await makeFolders(options.folder);
  const secretKeys = await takeKeys(parts);

  const { databaseUrl, pool } = await startDatabase(parts, settings, secretKeys, folders.logs);
  halt.check();
  const shelf = await openMailShelf(folders.mails);
  const catcher = await startMailCatcher({
    shelf,
    onMail: (mail) => parts.observer.onMail(mail),
  });
  parts.stack.add('mail catcher', () => catcher.stop());
  const file = await openDemoState(options.folder, settings.databaseUrl);
  const receiver = await startDemoReceiver(parts, settings, file, shelf);
  halt.check();
  const urls = await startChildren(parts, settings, folders.logs, {
    databaseUrl,
    secretKeys,
    smtpUrl: catcher.url,
    apiPort,
    deliveryPort: await findFreePort(),
  });
  halt.check();
  const api = createApiClient(urls.apiUrl, halt.signal);
  const demo = await parts.step("Making sure of the demo's accounts and repositories", () =>
    prepareDemo({ pool, api, file, receiverUrl: receiver.url }),
  );
  for (const line of await resumeHeld(pool, demo)) parts.say(line);
  return {
    ...urls,
    databaseUrl,
    embedded: settings.databaseUrl === null,
    pool,
    api,
    receiver,
    mailsFolder: folders.mails,
    logsFolder: folders.logs,
    demoFile: file.file,
    demo,
    catchesMails: catchesMails(env),
  };
}

/** The person's key ring, or the playground's own. */
async function takeKeys({ env, options }: StartParts): Promise<string> {
  const given = env['GHOST_SECRET_KEYS']?.trim() ?? '';
  if (given !== '') return given;
  return readOrMakeKeys(path.join(options.folder, 'keys'));
}

/** Asked for a port, the playground takes that one or none. */
async function chooseApiPort(
  { options, env }: StartParts,
  settings: Settings<'playground'>,
): Promise<number> {
  const fromEnv = (env['PORT']?.trim() ?? '') !== '' && settings.port > 0 ? settings.port : null;
  const wanted = options.port ?? fromEnv;
  if (wanted === null) {
    return (await isFree(PREFERRED_API_PORT)) ? PREFERRED_API_PORT : findFreePort();
  }
  if (await isFree(wanted)) return wanted;
  throw portTaken(wanted);
}

async function makeFolders(folder: string) {
  const mails = path.join(folder, 'mails');
  const logs = path.join(folder, 'logs');
  for (const each of [mails, logs]) await mkdir(each, { recursive: true });
  return { mails, logs };
}

/** Takes the port of last time if it is free, so that queued webhooks find their way. */
async function startDemoReceiver(
  { stack, observer, env }: StartParts,
  settings: Settings<'playground'>,
  file: DemoStateFile,
  shelf: MailShelf,
): Promise<Receiver> {
  const kept = file.state.receiverPort;
  const port = kept !== null && (await isFree(kept)) ? kept : 0;
  const answers = createAnswers();
  const receiver = await startReceiver({
    port,
    answers,
    serve: createControl({
      answers,
      shelf,
      catchesMails: catchesMails(env),
      hookPaths: HOOK_PATHS,
      deadlineMs: settings.webhookDeadlineMs,
    }),
    secretOf: (url) => {
      const name = hookNameOf(url);
      const secret = name === undefined ? undefined : file.state.secrets[name];
      if (secret === undefined) return undefined;
      return { secret, at: `"${name}" of "secrets" in ${file.file}` };
    },
    failsFirstTry: (ordinal) => ordinal % FAILS_EVERY === 0,
    onWebhook: (webhook) => observer.onWebhook(webhook),
    onStray: (stray) => observer.onStray(stray),
  });
  stack.add('receiver', () => receiver.stop());
  file.state.receiverPort = receiver.port;
  await file.save();
  return receiver;
}
