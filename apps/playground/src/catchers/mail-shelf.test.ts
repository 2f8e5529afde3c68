import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, get, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { createAnswers } from './answers.js';
import { createControl } from './control.js';
import { type MailShelf, MAX_FILES, openMailShelf } from './mail-shelf.js';

const AT = new Date('2026-01-02T03:04:05.678Z');
const mail = (subject: string, to = 'brian@example.test') => ({
  to,
  subject,
  raw: Buffer.from(`To: ${to}\r\nSubject: x\r\n\r\ntext 日本語\r\n`),
  at: AT,
});

let folder: string;
let shelf: MailShelf;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'ghost-shelf-'));
  shelf = await openMailShelf(folder);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const index = () => readFile(path.join(folder, 'index.txt'), 'utf8');

describe('the mail shelf', () => {
  test('keeps a mail as a file for its owner, with a line of the index: time, to, subject, file', async () => {
    const file = await shelf.add(mail('Re: [ada/demo] 日本語 🎉'));
    expect(await readFile(file)).toEqual(mail('').raw);
    const line =
      '2026-01-02T03:04:05.678Z  brian@example.test  "Re: [ada/demo] 日本語 🎉"  00001-brian@example.test.eml';
    expect(shelf.lines()).toEqual([line]);
    expect(await index()).toBe(`${line}\n`);
    for (const name of await readdir(folder)) {
      expect((await stat(path.join(folder, name))).mode & 0o777).toBe(0o600);
    }
  });

  test('a subject or an address can neither begin a line nor steer a terminal, nor be a path', async () => {
    const file = await shelf.add(
      mail('a\r\n2026  x  "y"  00009-x.eml\u001B[2J\u009B\u202E\u2028', '../../etc/\u0007x@y'),
    );
    expect(path.dirname(file)).toBe(folder);
    expect(shelf.lines()).toHaveLength(1);
    expect(shelf.lines()[0]).not.toMatch(/[\p{Cc}\u2028\u202E]/u);
    expect((await openMailShelf(folder)).lines()).toEqual(shelf.lines());
  });

  test('goes on counting after a restart; a file that the index lacks is read, a line without one goes', async () => {
    await shelf.add(mail('kept'));
    await writeFile(
      path.join(folder, '00007-x.eml'),
      'To: x@example.test\r\nSubject: =?utf-8?q?=C3=A9?=\r\n\r\n',
    );
    await rm(await shelf.add(mail('removed')));
    const again = await openMailShelf(folder);
    expect(again.lines().map((line) => line.replace(/^\S+ {2}/u, ''))).toEqual([
      'brian@example.test  "kept"  00001-brian@example.test.eml',
      'x@example.test  "é"  00007-x.eml',
    ]);
    expect(path.basename(await again.add(mail('next')))).toMatch(/^00008-/u);
    expect((await index()).split('\n')).toHaveLength(4);
  });

  test('keeps the newest 500, and an index that does not grow without end', async () => {
    for (let number = 1; number <= MAX_FILES; number += 1) {
      await writeFile(path.join(folder, `${String(number).padStart(5, '0')}-x.eml`), '');
    }
    shelf = await openMailShelf(folder);
    for (let number = 0; number <= MAX_FILES; number += 1) await shelf.add(mail('more'));
    const names = await readdir(folder);
    expect(names).toHaveLength(MAX_FILES + 1);
    expect(names).not.toContain('00501-brian@example.test.eml');
    expect(names).toContain('00502-brian@example.test.eml');
    expect((await index()).trimEnd().split('\n')).toEqual(shelf.lines());
  });
});

describe('mails over HTTP', () => {
  let server: Server;
  let url: string;
  beforeEach(async () => {
    const control = createControl({
      answers: createAnswers(),
      shelf,
      catchesMails: true,
      hookPaths: [],
      deadlineMs: 10_000,
    });
    server = createServer((request, response) => {
      void control(request, response).then((served) => served || response.writeHead(418).end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  });
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  /** Asks for the path as it is, where fetch would shorten it. */
  function statusOf(path: string): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = new URL(url);
      get({ hostname, port, path }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on('error', reject);
    });
  }

  test('are listed, and shown as inert text', async () => {
    expect(await (await fetch(`${url}/mails`)).text()).toBe('No mail was caught yet.\n');
    await shelf.add(mail('<script>alert(1)</script>'));
    const list = await fetch(`${url}/mails`);
    const text = await list.text();
    expect(text).toBe(`${shelf.lines()[0]}\n`);
    const file = text.trim().split('  ').at(-1) ?? '';
    const one = await fetch(`${url}/mails/${file}`);
    expect(Buffer.from(await one.arrayBuffer())).toEqual(mail('').raw);
    for (const response of [list, one]) {
      expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    }
    expect((await fetch(`${url}/mails`, { method: 'POST', body: 'x' })).status).toBe(405);
  });

  test('no name leads to another file', async () => {
    await shelf.add(mail('one'));
    await writeFile(path.join(folder, 'secret'), 'secret');
    await symlink(path.join(folder, 'secret'), path.join(folder, '00009-link.eml'));
    shelf = await openMailShelf(folder);
    expect(shelf.lines()).toHaveLength(1);
    const names = ['secret', 'index.txt', '..', '.', '..%2Fsecret', '00009-link.eml', '..\\secret'];
    for (const name of names) expect(await statusOf(`/mails/${name}`), name).toBe(404);
    // Not for this: the receiver then looks for a hook.
    for (const other of ['/mails/../secret', '/mails//secret', '/mails/a/b', '/mailsecret']) {
      expect(await statusOf(other), other).toBe(418);
    }
  });
});
