import path from 'node:path';

import { describeDatabase } from '@ghost/operations';

import { OWNER, PEOPLE } from './demo/demo-people.js';
import type { CaughtMail } from './catchers/mail-catcher.js';
import type { CaughtWebhook } from './catchers/receiver.js';
import type { Playground } from './start/start-playground.js';

const SHOWN_SUBJECT = 60;

/** Where to look, and the one command that sets everything going. */
export function describePlayground(playground: Playground): string {
  const { demo, apiUrl } = playground;
  const repository = demo.repositories[0];
  if (!repository) throw new Error('The demo has no repository.');
  const shown = (file: string) => path.relative(process.cwd(), file) || file;
  const readers = repository.watchers.filter((login) => login !== OWNER);
  const mails = playground.catchesMails
    ? `${shown(playground.mailsFolder)}/*.eml (caught, sent to nobody)`
    : 'go to the relay of GHOST_SMTP_URL';
  return [
    '',
    'Ghost is running.',
    '',
    `  API        ${apiUrl}/api   (${apiUrl}/metrics)`,
    `  Delivery   ${playground.deliveryUrl}/metrics`,
    `  Receiver   ${playground.receiver.url} verifies each webhook and fails every third one once`,
    `  Mails      ${mails}`,
    `  Database   ${playground.embedded ? playground.databaseUrl : describeDatabase(playground.databaseUrl)}`,
    `  Logs       ${shown(playground.logsFolder)}/`,
    `  Accounts   ${PEOPLE.map((person) => person.login).join(', ')}; tokens in ${shown(playground.demoFile)}`,
    '',
    `Post a comment as ${OWNER}; it becomes ${readers.length} mails and a webhook:`,
    '',
    `  curl -X POST ${apiUrl}/api/repos/${OWNER}/${repository.name}/threads/${repository.thread}/comments \\`,
    `    -H 'authorization: Bearer ${demo.tokenOf(OWNER)}' -H 'content-type: application/json' \\`,
    `    -d '{"body":"Hello from curl :wave:"}'`,
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
  return `${clock(mail.at)}  mail     ${mail.envelopeTo}  ${JSON.stringify(subject)}  ${verdict}  ${path.basename(mail.file)}`;
}

export function webhookLine(webhook: CaughtWebhook): string {
  const { standard, ghost } = webhook.signatures;
  const signatures =
    standard === 'ok' && ghost === 'ok'
      ? 'both signatures ok'
      : `SIGNATURES: standard ${standard}, ghost ${ghost}`;
  const others = webhook.problems.filter((problem) => !problem.includes(' signature: '));
  const answer =
    webhook.answered === 500 ? '500 on purpose: it comes again' : String(webhook.answered);
  return [
    `${clock(webhook.at)}  webhook  hook ${webhook.hookId}  ${webhook.event}  attempt ${webhook.attempt}`,
    signatures,
    ...others,
    `answered ${answer}`,
  ].join('  ');
}

function clock(at: Date): string {
  return at.toTimeString().slice(0, 8);
}
