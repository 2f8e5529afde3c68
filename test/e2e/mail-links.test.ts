import type { Pool } from '@ghost/db';
import { simpleParser } from 'mailparser';
import { expect, test } from 'vitest';

import { refusedByLimits } from '../support/mail-limits.js';
import { startGhost } from '../support/running-ghost.js';

/** What each reader's mail has: in its text, its HTML and its header. */
const LINKS = 5;
const ONE_CLICK = {
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: 'List-Unsubscribe=One-Click',
};

const URL_IN_TEXT = /https?:\/\/[^\s"'<>)]+/gu;

/** All rows of all tables, as text. */
async function everything(pool: Pool): Promise<Record<string, string[]>> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  );
  const all: Record<string, string[]> = {};
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: string }>(
      `SELECT t::text AS row FROM ${name} t ORDER BY 1`,
    );
    all[name] = rows.map(({ row }) => row);
  }
  return all;
}

/** Every URL of a mail as it came, wherever it stands. */
async function linksOf(raw: Buffer): Promise<{ all: string[]; unsubscribe: string }> {
  const { text = '', html, headerLines } = await simpleParser(raw);
  const head = headerLines.map(({ line }) => line.replaceAll(/\r?\n[ \t]/gu, ''));
  const found = [text, html || '', ...head].flatMap((part) => part.match(URL_IN_TEXT) ?? []);
  const oneClick = head.find((line) => line.startsWith('List-Unsubscribe:'));
  return { all: [...new Set(found)], unsubscribe: oneClick?.match(URL_IN_TEXT)?.[0] ?? '' };
}

test('fetching every link of a mail changes nothing; its one click ends the thread’s mails, for its reader alone', async () => {
  const ghost = await startGhost();
  const [ada, brian, cleo] = [
    await ghost.person('ada'),
    await ghost.person('brian'),
    await ghost.person('cleo'),
  ];
  await ada.expect(201, 'POST', '/user/repos', { name: 'demo', private: false });
  for (const reader of [brian, cleo]) {
    await reader.expect(200, 'PUT', '/repos/ada/demo/subscription', { subscribed: true });
  }
  const comments = '/repos/ada/demo/threads/1/comments';
  await ada.expect(201, 'POST', '/repos/ada/demo/threads', { title: 'A thread', body: 'Start' });
  await ada.expect(201, 'POST', comments, { body: 'See [this](/ada/demo) and ![that](that.png).' });
  await ghost.settled();
  const mailsTo = (login: string) =>
    ghost.mails.mails().filter(({ envelope }) => envelope.to.includes(`${login}@readers.example`));
  const { all, unsubscribe } = await linksOf(mailsTo('brian').at(-1)?.raw ?? Buffer.of());
  expect(all).toContain(unsubscribe);
  expect(all.length).toBeGreaterThanOrEqual(LINKS);

  // One thread, in mails that a strict relay takes.
  for (const reader of ['brian', 'cleo']) {
    const mails = await Promise.all(mailsTo(reader).map(({ raw }) => simpleParser(raw)));
    expect(new Set(mails.map(({ messageId }) => messageId)).size).toBe(2);
    expect(new Set(mails.flatMap(({ references, inReplyTo }) => [references, inReplyTo]))).toEqual(
      new Set([expect.stringMatching(/^<thread\.\d+@ghost\.example>$/u)]),
    );
  }
  expect(ghost.mails.mails().map(({ raw }) => refusedByLimits(raw))).toEqual(
    ghost.mails.mails().map(() => undefined),
  );

  const before = await everything(ghost.pool);
  expect(Object.values(before).flat().length).toBeGreaterThan(20);
  for (const url of all) {
    for (const method of ['GET', 'HEAD', 'GET']) {
      const response = await fetch(url, { method, redirect: 'manual' });
      expect(response.status, `${method} ${url}`).toBeLessThan(500);
      await response.arrayBuffer();
    }
  }
  expect(await everything(ghost.pool)).toEqual(before);

  // The one click, and again: mail programs and their users both repeat it.
  const muted = async () => {
    const { rows } = await ghost.pool.query<{ login: string }>(
      `SELECT login FROM thread_subscription JOIN account ON account.id = account_id WHERE muted`,
    );
    return rows.map(({ login }) => login);
  };
  for (let times = 0; times < 2; times += 1) {
    expect((await fetch(unsubscribe, ONE_CLICK)).status).toBe(200);
    expect(await muted()).toEqual(['brian']);
  }
  const forged = `${unsubscribe.slice(0, -1)}${unsubscribe.endsWith('A') ? 'B' : 'A'}`;
  expect((await fetch(forged, ONE_CLICK)).status).toBe(404);
  const had = [mailsTo('brian').length, mailsTo('cleo').length];
  await ada.expect(201, 'POST', comments, { body: 'More.' });
  await ghost.settled();
  expect([mailsTo('brian').length, mailsTo('cleo').length]).toEqual([had[0], (had[1] ?? 0) + 1]);
});
