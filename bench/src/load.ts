import { uuidv7 } from 'uuidv7';

/** One secret for all: what it costs to sign does not depend on it. */
export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
export const EVENT = 'comment.created';
/**
 * As most webhooks do, those of two hooks go to two hosts: no contender gains by sharing sockets.
 * Loopback is all of 127.0.0.0/8 on Linux; elsewhere only 127.0.0.1 answers.
 */
const HOSTS = process.platform === 'linux' ? 1_000 : 1;
const HOSTS_A_NET = 250;
const BODY_BYTES = 1_024;
const SENTENCE = 'A comment of usual length. ';

/** A webhook to send: what a peer keeps as the payload of its job. */
export interface BenchJob {
  /** A uuid: ours for the job, and for all the `webhook-id` by which the receiver knows it. */
  id: string;
  /** From 1. */
  hook: number;
  url: string;
  body: string;
}

/** The hosts that receive, all of this machine. */
export function loopbackHosts(): string[] {
  return Array.from({ length: HOSTS }, (_, index) => hostOf(index));
}

/** Where a hook's webhooks go. */
export function hookUrl(hook: number, port: number): string {
  return `http://${hostOf(hook % HOSTS)}:${port}/hooks/${hook}`;
}

function hostOf(index: number): string {
  return `127.0.${Math.floor(index / HOSTS_A_NET)}.${1 + (index % HOSTS_A_NET)}`;
}

/** Jobs for so many hooks in turn, each with a body of its own of about 1 KB. */
export function makeJobs(count: number, hooks: number, port: number): BenchJob[] {
  return Array.from({ length: count }, (_, index) => {
    const hook = (index % hooks) + 1;
    return { id: uuidv7(), hook, url: hookUrl(hook, port), body: bodyOf(index) };
  });
}

/** As many as one puts into one transaction. */
const BATCH = 1_000;

export function* inBatches(jobs: readonly BenchJob[]): Generator<BenchJob[]> {
  for (let at = 0; at < jobs.length; at += BATCH) yield jobs.slice(at, at + BATCH);
}

function bodyOf(index: number): string {
  const comment = { id: index, author: 'ada', text: '' };
  const event = { event: EVENT, repository: { owner: 'ghost', name: 'bench' }, comment };
  const room = BODY_BYTES - JSON.stringify(event).length;
  comment.text = SENTENCE.repeat(Math.ceil(room / SENTENCE.length)).slice(0, room);
  return JSON.stringify(event);
}
