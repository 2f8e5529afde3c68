import path from 'node:path';

import { describeDatabase, inertLine } from '@ghost/operations';

import { HOOK_PATHS } from './demo/demo-data.js';
import { OWNER, PEOPLE } from './demo/demo-people.js';
import type { CaughtMail } from './catchers/mail-catcher.js';
import { ANSWERS, REDIRECT_PATH, SLOW_MS } from './catchers/answers.js';
import type { CaughtWebhook } from './catchers/inspect-webhook.js';
import type { StrayRequest } from './catchers/receiver.js';
import type { Playground } from './start/start-playground.js';

const SHOWN_SUBJECT = 60;

/** Where to look, and the one command that sets everything going. */
export function describePlayground(playground: Playground): string {
  const { demo, apiUrl } = playground;
  const receiver = playground.receiver.url;
  const repository = demo.repositories[0];
  if (!repository) throw new Error('The demo has no repository.');
  const shown = (file: string) => path.relative(process.cwd(), file) || file;
  const mails = playground.catchesMails
    ? `${shown(playground.mailsFolder)}/*.eml (caught, sent to nobody)`
    : 'go to the relay of GHOST_SMTP_URL';
  return [
    '',
    'Ghost is running.',
    '',
    `  API        ${apiUrl}/api   (${apiUrl}/metrics)`,
    `  Delivery   ${playground.deliveryUrl}/metrics`,
    `  Receiver   ${receiver} verifies each webhook and fails every third one once (a hook of your own: ${receiver}/hooks/NAME)`,
    `  Mails      ${mails}`,
    `  Database   ${playground.embedded ? playground.databaseUrl : describeDatabase(playground.databaseUrl)}`,
    `  Logs       ${shown(playground.logsFolder)}/`,
    `  Accounts   ${PEOPLE.map((person) => person.login).join(', ')}; tokens in ${shown(playground.demoFile)}`,
    '',
    `Post a comment as ${OWNER}; it becomes a mail to everyone else who watches, and a webhook:`,
    '',
    `  curl -X POST ${apiUrl}/api/repos/${OWNER}/${repository.name}/threads/${repository.thread}/comments \\`,
    `    -H 'authorization: Bearer ${demo.tokenOf(OWNER)}' -H 'content-type: application/json' \\`,
    `    -d '{"body":"Hello from curl :wave:"}'`,
    '',
    `Tell the receiver what to answer (${ANSWERS.join(', ')}), all hooks or one; see what each does; read the mails:`,
    '',
    `  curl -X PUT ${receiver}/answer -d 410`,
    `  curl -X PUT ${receiver}/answer${HOOK_PATHS[0]} -d hang`,
    `  curl ${receiver}/answer`,
    `  curl ${receiver}/mails`,
    '',
    'Make a token of your own; so run all commands of `npx ghost`:',
    '',
    `  DATABASE_URL=${playground.embedded ? playground.databaseUrl : '…'} npx ghost token add ${OWNER} --scope repo --scope hooks --scope admin --label laptop`,
    '',
    'What leaves shows below. Ctrl-C stops everything.',
    '',
  ].join('\n');
}

export function mailLine(mail: CaughtMail): string {
  const verdict = mail.problems.length === 0 ? 'headers ok' : `WRONG: ${mail.problems.join('; ')}`;
  const subject =
    mail.subject.length > SHOWN_SUBJECT
      ? `${mail.subject.slice(0, SHOWN_SUBJECT - 1)}…`
      : mail.subject;
  return inertLine(
    `${clock(mail.at)}  mail     ${mail.envelopeTo}  ${JSON.stringify(subject)}  ${verdict}  ${path.basename(mail.file)}`,
  );
}

export function webhookLine(webhook: CaughtWebhook): string {
  const others = webhook.problems.filter((problem) => !problem.includes(' signature: '));
  return inertLine(
    [
      `${clock(webhook.at)}  webhook  hook ${webhook.hookId}  ${webhook.event}  attempt ${webhook.attempt}`,
      describeSignatures(webhook),
      ...others,
      answered(webhook),
    ].join('  '),
  );
}

/** A webhook for no hook: its sender has it wrong. */
export function strayLine({ path: asked, at }: StrayRequest): string {
  return inertLine(
    `${clock(at)}  webhook  for an unknown path ${asked} answered 404: known are ${HOOK_PATHS.join(', ')}, and /hooks/NAME for one of your own`,
  );
}

function describeSignatures({ signatures, secretAt }: CaughtWebhook): string {
  const { standard, ghost } = signatures;
  if (secretAt === null) return 'not verified: unknown secret';
  if (standard === 'ok' && ghost === 'ok') return 'both signatures ok';
  return `SIGNATURES: standard ${standard}, ghost ${ghost}; expected is the secret ${secretAt}`;
}

function answered({ told, answered: status }: CaughtWebhook): string {
  switch (told) {
    case 'scripted':
      return `answered ${status}${status === 500 ? ' on purpose: it comes again' : ''}`;
    case 'hang':
      return 'not answered, as told';
    case 'slow':
      return `answered ${status} after ${SLOW_MS / 1000} s, as told`;
    case '302':
      return `answered ${status} to ${REDIRECT_PATH}, as told`;
    case '200':
    case '410':
    case '500':
      return `answered ${status}, as told`;
    default:
      return told satisfies never;
  }
}

function clock(at: Date): string {
  return at.toTimeString().slice(0, 8);
}
