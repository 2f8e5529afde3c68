import type { IncomingMessage, ServerResponse } from 'node:http';

import { inertLine } from '@ghost/operations';

import { ANSWERS, type Answers, explainAnswer, isAnswer } from './answers.js';
import type { MailShelf } from './mail-shelf.js';
import { readBody } from './read-body.js';

const MAX_WORD_BYTES = 100;
/** A page of another site must not reach it by a name of its own that leads here. */
const OWN_HOST = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/u;
const ANSWER_PATH = /^\/answer(?<hook>\/.+)?$/u;
const MAIL_PATH = /^\/mails(?:\/(?<name>[^/]*))?$/u;
const WIDEST_WORD = Math.max(...ANSWERS.map((answer) => answer.length));

export interface ControlOptions {
  answers: Answers;
  shelf: MailShelf;
  /** Whether mails come to the shelf at all. */
  catchesMails: boolean;
  /** The paths of the hooks that the receiver knows. */
  hookPaths: readonly string[];
  /** After so long delivery gives up. */
  deadlineMs: number;
}

interface Reply {
  status: number;
  /** Text is sent with a line end. */
  body: string | Buffer;
  allow?: string;
}

/**
 * What a person asks of the receiver with curl: `/answer` tells it what to answer and shows what it
 * was told, `/mails` lists the caught mails and `/mails/FILE` shows one; `/` says what it is.
 * @returns false for any other path, untouched
 */
export function createControl(options: ControlOptions) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    const reply = await replyTo(request, options);
    if (reply === undefined) return false;
    const { status, body, allow } = reply;
    response
      .writeHead(status, {
        'content-type': 'text/plain; charset=utf-8',
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; sandbox",
        'cache-control': 'no-store',
        ...(allow === undefined ? {} : { allow }),
        ...(status === 413 ? { connection: 'close' } : {}),
      })
      .end(typeof body === 'string' ? `${body}\n` : body);
    return true;
  };
}

async function replyTo(
  request: IncomingMessage,
  options: ControlOptions,
): Promise<Reply | undefined> {
  const path = request.url ?? '';
  if (path === '/' && isRead(request)) return { status: 200, body: describeSelf(options) };
  const answer = ANSWER_PATH.exec(path);
  const mail = MAIL_PATH.exec(path);
  if (!answer && !mail) return undefined;
  if (!OWN_HOST.test(request.headers.host ?? '') || isOfAPage(request)) {
    return {
      status: 403,
      body: 'This is for people at the machine that it runs on: use curl and 127.0.0.1.',
    };
  }
  if (answer) return replyToAnswer(request, answer.groups?.['hook'], options);
  return replyToMail(request, mail?.groups?.['name'], options);
}

function describeSelf({ hookPaths }: ControlOptions): string {
  return [
    `The webhook receiver of Ghost's playground: POST to ${hookPaths.join(', ')} is verified; any other /hooks/NAME is answered unverified.`,
    'GET or PUT /answer: what it answers. GET /mails: the mails that were caught.',
  ].join('\n');
}

async function replyToAnswer(
  request: IncomingMessage,
  hook: string | undefined,
  options: ControlOptions,
): Promise<Reply> {
  if (hook !== undefined && !options.hookPaths.includes(hook)) {
    const known = options.hookPaths.map((path) => `/answer${path}`);
    return { status: 404, body: `There is no hook ${inertLine(hook)}. Known: ${known.join(', ')}` };
  }
  if (isRead(request)) return { status: 200, body: describeAnswers(options, hook, request) };
  if (request.method !== 'PUT') return notAllowed('GET, HEAD, PUT');
  const word = (await readBody(request, MAX_WORD_BYTES))?.toString('utf8').trim();
  if (word === undefined) return { status: 413, body: `One word: ${ANSWERS.join(', ')}` };
  if (!isAnswer(word)) {
    return { status: 400, body: `"${inertLine(word)}" is no answer. Known: ${ANSWERS.join(', ')}` };
  }
  options.answers.tell(word, hook);
  return { status: 200, body: describeAnswers(options, hook, request) };
}

function describeAnswers(
  { answers, deadlineMs }: ControlOptions,
  hook: string | undefined,
  request: IncomingMessage,
): string {
  const facts = { receiverUrl: `http://${request.headers.host}`, deadlineMs };
  const line = (who: string, answer: (typeof ANSWERS)[number]) =>
    `${who}: ${answer} (${explainAnswer(answer, facts)})`;
  if (hook !== undefined) return line(hook, answers.of(hook));
  const words = ANSWERS.map(
    (answer) => `  ${answer.padEnd(WIDEST_WORD)}  ${explainAnswer(answer, facts)}`,
  );
  return [
    line('all hooks', answers.forAll),
    ...[...answers.own].map(([path, answer]) => line(path, answer)),
    '',
    `curl -X PUT ${facts.receiverUrl}/answer -d WORD`,
    ...words,
  ].join('\n');
}

async function replyToMail(
  request: IncomingMessage,
  name: string | undefined,
  { shelf, catchesMails }: ControlOptions,
): Promise<Reply> {
  if (!isRead(request)) return notAllowed('GET, HEAD');
  if (name === undefined || name === '') {
    const none = catchesMails
      ? 'No mail was caught yet.'
      : 'Mails go to the relay of GHOST_SMTP_URL.';
    return { status: 200, body: shelf.lines().join('\n') || none };
  }
  const content = await shelf.read(name);
  return content === undefined
    ? { status: 404, body: `There is no such mail: ${inertLine(name)}. See /mails.` }
    : { status: 200, body: content };
}

/** A browser says on whose behalf it asks (Fetch, 3.1): no page may steer the receiver or read mails. */
function isOfAPage({ headers, method }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  const typed = site === undefined || site === 'none';
  return !typed || (headers.origin !== undefined && method !== 'GET');
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

function notAllowed(allow: string): Reply {
  return { status: 405, body: `Only ${allow}.`, allow };
}
