import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';

import { simpleParser } from 'mailparser';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';

import { freePort } from '../../../../test/support/ghost-processes.js';
import {
  apiUrlOf,
  exitCodeOf,
  PLAYGROUND_TIMEOUT_MS,
  PlaygroundFolder,
  postAsPrinted,
  receiverUrlOf,
  textOf,
} from '../../../../test/support/playground-process.js';
import type { RunningProcess } from '../../../../test/support/processes.js';
import { startReceiver } from '../../../../test/support/webhook-receiver.js';

vi.setConfig({ testTimeout: PLAYGROUND_TIMEOUT_MS });

let ghost: PlaygroundFolder;
beforeAll(async () => {
  // Another test file may start one at the same moment that takes the usual port.
  ghost = await PlaygroundFolder.create('--port', String(await freePort()));
});
afterAll(() => ghost.remove());

/** Runs to its end, which must be good. */
async function once(comments: number): Promise<string> {
  const playground = await ghost.start(['--once', '--comments', String(comments)]);
  expect(await exitCodeOf(playground), textOf(playground)).toBe(0);
  return textOf(playground);
}

/** The link in a caught mail of a repository to one of the demo's people. */
async function unsubscribeLink(address: string, repository: string): Promise<string> {
  const mails = path.join(ghost.folder, 'mails');
  for (const name of (await readdir(mails)).filter((file) => file.includes(address))) {
    const mail = await simpleParser(await readFile(path.join(mails, name)));
    if (mail.subject?.includes(repository) !== true) continue;
    const link = /^No more mails of this thread: (\S+)$/mu.exec(mail.text ?? '')?.[1];
    if (link !== undefined) return link;
  }
  throw new Error(`No mail of ${repository} to ${address} has a link.`);
}

/** What people made of the demo is gone with it. */
async function clearFolder(): Promise<void> {
  await ghost.remove();
  await mkdir(ghost.folder);
}

/** Asks the API of a running playground, as one of the demo's people. */
async function ask(
  running: RunningProcess,
  login: string,
  method: string,
  at: string,
  wish?: object,
) {
  const token = (await ghost.tokens())[login];
  const answer = await fetch(`${apiUrlOf(running)}/api/repos/ada/demo${at}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(wish === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(wish === undefined ? {} : { body: JSON.stringify(wish) }),
  });
  expect(answer.ok, `${login}: ${answer.status}`).toBe(true);
  return answer;
}

describe('npm start -- --once', () => {
  test('posts, waits, tells who got what with a retry among it, and exits 0 twice in a row', async () => {
    for (let run = 1; run <= 2; run += 1) {
      const text = await once(5);
      expect(text).toMatch(/All \d+ deliveries of 6 events came and were verified/u);
      expect(text).toMatch(/hook \d+ .* delivered +2 +both signatures/u);
      expect(text).toMatch(/brian@example\.test> +delivered +1 +headers and text/u);
    }
    for (const secret of ['keys', 'demo.json']) {
      expect((await stat(path.join(ghost.folder, secret))).mode & 0o777).toBe(0o600);
    }
    expect((await readdir(path.join(ghost.folder, 'mails'))).length).toBeGreaterThan(10);
  });

  test('goes on with what people chose: who muted, ignores, watches no more or anew, over restarts', async () => {
    const link = await unsubscribeLink('brian@example.test', 'private-plans');
    const running = await ghost.run();
    const left = await fetch(apiUrlOf(running) + new URL(link).pathname, { method: 'POST' });
    expect(left.status).toBe(200);
    await ask(running, 'brian', 'PUT', '/subscription', { ignored: true });
    await ask(running, 'chika', 'DELETE', '/subscription');
    await ask(running, 'emeka', 'PUT', '/subscription', { subscribed: true });
    expect((await running.stop('SIGTERM')).code).toBe(0);

    const text = await once(5);
    expect(text).toMatch(/ brian +skipped \(muted\)$/mu);
    expect(text).toMatch(/ brian +skipped \(ignored\)$/mu);
    expect(text).toMatch(/emeka@example\.test> +delivered/u);
    expect(text).not.toMatch(/^thread.*chika/mu);
    expect(text).not.toContain('chika@example.test');
    await clearFolder();
  });

  test('expects what people made of the hooks: their own, at the receiver or not, and one switched off', async () => {
    const elsewhere = await startReceiver();
    onTestFinished(() => elsewhere.stop());
    const running = await ghost.run();
    const hooks = (await (await ask(running, 'ada', 'GET', '/hooks')).json()) as {
      id: number;
      events: string[];
    }[];
    const closed = hooks.find(({ events }) => events.includes('thread.closed'));
    await ask(running, 'ada', 'PATCH', `/hooks/${closed?.id}`, { active: false, events: ['*'] });
    for (const url of [`${receiverUrlOf(running)}/hooks/mine`, `${elsewhere.url}/hooks/mine`]) {
      const events = ['comment.created'];
      await ask(running, 'ada', 'POST', '/hooks', { config: { url }, events });
    }
    expect((await running.stop('SIGTERM')).code).toBe(0);

    const text = await once(2);
    expect(text).toMatch(/ hook \d+ .* delivered +\d +text \(unknown secret\)$/mu);
    expect(text).toMatch(/ hook \d+ .* delivered +1 +not caught$/mu);
    expect(text).toMatch(/ hook \d+ .* skipped \(inactive\)$/mu);
    const came = elsewhere.requests().map(({ headers }) => headers['x-ghost-event']);
    expect(came.filter((event) => event === 'comment.created')).toHaveLength(2);
    await clearFolder();
  });

  test('does not fail for what a 410 held: that goes on with the start', async () => {
    const running = await ghost.run();
    await fetch(`${receiverUrlOf(running)}/answer`, { method: 'PUT', body: '410' });
    const posted = await postAsPrinted(running, 'gone');
    expect(posted.headers.get('x-ratelimit-limit')).toBe('1000000');
    // Whichever comes first: what the start itself posted may still be on its way.
    await running.waitForLine(/ webhook .*answered 410, as told/u);
    expect((await running.stop('SIGTERM')).code).toBe(0);

    expect(await once(1)).toMatch(/^hook:\d+ was held \(.*\), \d+ pending: resumed, /mu);
  });
});
