import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { gate } from '../../../../test/support/gate.js';
import { type Person, startTestApi, type TestApi } from '../../../../test/support/test-api.js';
import { countBlocked } from '../../../../test/support/until-blocked.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { NotifierService } from '../notifier/notifier.service.js';
import { WebhookFanoutService } from '../webhook-fanout/webhook-fanout.service.js';

let api: TestApi;
let ada: Person;
let cleo: Person;
let eve: Person;
let repository: string;
let made = 0;

/** Set: a page of fan-out says when it chose its readers, and commits when it may. */
let pageOpen: { chosen: () => void; mayCommit: Promise<unknown> } | null = null;

beforeAll(async () => {
  api = await startTestApi({
    env: { GHOST_ALLOW_CIDRS: '127.0.0.0/8' },
    instrument: (instance) => {
      if (instance instanceof NotifierService || instance instanceof WebhookFanoutService) {
        const page = instance.page.bind(instance);
        instance.page = async (...args) => {
          const result = await page(...args);
          // Its mails: a page of webhooks holds the same lock, and the mails may not be chosen yet.
          if (instance instanceof NotifierService) pageOpen?.chosen();
          await pageOpen?.mayCommit;
          return result;
        };
      }
      return instance;
    },
  });
  ada = await api.addPerson('ada');
  cleo = await api.addPerson('cleo');
  eve = await api.addPerson('eve');
});
afterAll(() => api.stop());

beforeEach(async () => {
  made += 1;
  pageOpen = null;
  repository = `place-${made}`;
  await ada.ask('POST', '/user/repos', { name: repository, private: false });
  await ada.ask('PUT', `/repos/ada/${repository}/collaborators/cleo`, { permission: 'pull' });
  for (const person of [cleo, eve]) {
    await person.ask('PUT', `/repos/ada/${repository}/subscription`, { subscribed: true });
  }
});

interface Waiting {
  login: string | null;
  kind: string;
  status: string;
  last_error: string | null;
}

async function jobs(): Promise<Waiting[]> {
  const { rows } = await api.pool.query<Waiting>(
    `SELECT a.login, j.kind, j.status, j.last_error FROM delivery_job j
     JOIN outbox_event e ON e.id = j.event_id LEFT JOIN account a ON a.id = j.account_id
     WHERE e.payload->'repository'->>'name' = $1 AND e.type <> 'ping' ORDER BY j.kind, a.login`,
    [repository],
  );
  return rows;
}

async function unprocessed(): Promise<number> {
  const { rows } = await api.pool.query(
    `SELECT FROM outbox_event WHERE payload->'repository'->>'name' = $1 AND processed_at IS NULL`,
    [repository],
  );
  return rows.length;
}

const untilFannedOut = () =>
  waitUntil(async () => (await unprocessed()) === 0, { what: 'fan-out to end' });

/** Until the API waits for a lock in a statement. */
const untilWaiting = (statement: string) =>
  waitUntil(() => countBlocked(api.pool, statement), { what: `the API to wait in ${statement}` });

const openThread = () => ada.ask('POST', `/repos/ada/${repository}/threads`, { title: 'News' });

async function addHook(): Promise<void> {
  const added = await ada.ask('POST', `/repos/ada/${repository}/hooks`, {
    config: { url: 'http://127.0.0.1:9/' },
    events: ['*'],
  });
  expect(added.status).toBe(201);
}

/** Runs `change` while a page of fan-out for a new thread is open, which then commits its jobs. */
async function duringAPage(change: () => Promise<{ status: number }>): Promise<number> {
  await untilFannedOut();
  const chosen = gate();
  const mayCommit = gate();
  pageOpen = { chosen: () => chosen.open(), mayCommit: mayCommit.opened };
  try {
    await openThread();
    await chosen.opened;
    let ended = false;
    const changing = change().finally(() => {
      ended = true;
    });
    await api.waitUntilBlocked();
    expect(ended).toBe(false);
    mayCommit.open();
    pageOpen = null;
    return (await changing).status;
  } finally {
    mayCommit.open();
    pageOpen = null;
    await untilFannedOut();
  }
}

const pending = { status: 'pending', last_error: null };
const lost = { status: 'cancelled', last_error: 'access_lost' };
const deleted = { status: 'cancelled', last_error: 'repository_deleted' };

describe('making a repository private', () => {
  const hide = () => ada.ask('PATCH', `/repos/ada/${repository}`, { private: true });

  test('ends the waiting mail of those who can read no more, and of nobody else', async () => {
    await addHook();
    await openThread();
    await untilFannedOut();
    expect(await jobs()).toMatchObject([
      { login: 'cleo', ...pending },
      { login: 'eve', ...pending },
      { kind: 'webhook', ...pending },
    ]);
    expect((await hide()).status).toBe(200);
    expect(await jobs()).toMatchObject([
      { login: 'cleo', ...pending },
      { login: 'eve', ...lost },
      { kind: 'webhook', ...pending },
    ]);
    expect((await eve.ask('GET', `/repos/ada/${repository}`)).status).toBe(404);
  });

  test('waits for an open page of fan-out, and ends what it enqueued', async () => {
    expect(await duringAPage(hide)).toBe(200);
    expect(await jobs()).toMatchObject([
      { login: 'cleo', ...pending },
      { login: 'eve', ...lost },
    ]);
  });

  test('and public again brings back no mail that was ended', async () => {
    await openThread();
    await untilFannedOut();
    await hide();
    await ada.ask('PATCH', `/repos/ada/${repository}`, { private: false });
    expect(await jobs()).toMatchObject([{ login: 'cleo' }, { login: 'eve', ...lost }]);
  });
});

describe('deleting a repository', () => {
  const remove = () => ada.ask('DELETE', `/repos/ada/${repository}`);
  const untilEnded = () =>
    waitUntil(async () => (await jobs()).every(({ status }) => status !== 'pending'), {
      what: 'what waited to be cancelled',
    });

  test('ends everything that waits for it', async () => {
    await addHook();
    await openThread();
    await untilFannedOut();
    expect((await remove()).status).toBe(204);
    await untilEnded();
    expect(await jobs()).toMatchObject([
      { login: 'cleo', ...deleted },
      { login: 'eve', ...deleted },
      { kind: 'webhook', ...deleted },
    ]);
  });

  test('waits for an open page of fan-out, and ends what it enqueued', async () => {
    await addHook();
    expect(await duringAPage(remove)).toBe(204);
    await untilEnded();
    const left = await jobs();
    expect(left.length).toBeGreaterThan(0);
    expect(new Set(left.map(({ status }) => status))).toEqual(new Set(['cancelled']));
  });

  test('leaves an event that fan-out has not seen nobody to tell, and it ends', async () => {
    await untilFannedOut();
    const holder = await api.pool.connect();
    await holder.query('BEGIN');
    // Nobody claims the event before the repository is gone.
    await holder.query('LOCK TABLE outbox_progress IN SHARE ROW EXCLUSIVE MODE');
    const opening = openThread();
    await untilWaiting('%outbox_progress%');
    const removal = remove();
    await untilWaiting('delete from "thread_counter"%');
    await holder.query('COMMIT');
    holder.release();
    expect((await opening).status).toBe(201);
    expect((await removal).status).toBe(204);
    await untilFannedOut();
    expect(await jobs()).toEqual([]);
  });

  test('waits for somebody half-way through a comment, who does not wait for it', async () => {
    await openThread();
    const { rows } = await api.pool.query<{ id: string }>(
      `SELECT t.id FROM thread t JOIN repository r ON r.id = t.repository_id WHERE r.name = $1`,
      [repository],
    );
    const posting = await api.pool.connect();
    await posting.query('BEGIN');
    await posting.query('UPDATE comment_counter SET last = last + 1 WHERE thread_id = $1', [
      rows[0]?.id,
    ]);
    const removal = remove();
    await untilWaiting('delete from %');
    await posting.query(
      `INSERT INTO comment (thread_id, number, author_id, body) VALUES ($1, 1, $2, 'Half-way')`,
      [rows[0]?.id, cleo.id],
    );
    await posting.query('COMMIT');
    posting.release();
    expect((await removal).status).toBe(204);
  });

  test('meets people who write: each gets an answer', async () => {
    await openThread();
    const place = `/repos/ada/${repository}`;
    await cleo.ask('POST', `${place}/threads/1/comments`, { body: 'First' });
    const [first] = (await cleo.ask('GET', `${place}/threads/1/comments`)).body;
    const acts = [
      () => cleo.ask('POST', `${place}/threads/1/comments`, { body: 'Me too, @eve' }),
      openThread,
      () => eve.ask('PUT', `${place}/subscription`, { subscribed: true }),
      () => cleo.ask('PATCH', `${place}/threads/comments/${first.id}`, { body: `@eve ${made}` }),
    ];
    for (const act of acts) expect((await act()).status).toBeLessThan(300);
    const posting = Array.from({ length: 10 }, () => acts.map((act) => act())).flat();
    const removal = await remove();
    expect(removal.status).toBe(204);
    const statuses = (await Promise.all(posting)).map(({ status }) => status);
    expect(statuses.filter((status) => ![200, 201, 404].includes(status))).toEqual([]);
    await untilFannedOut();
    await untilEnded();
  });
});

describe('removing a member', () => {
  const drop = () => ada.ask('DELETE', `/repos/ada/${repository}/collaborators/cleo`);

  test('of a private repository ends the waiting mail', async () => {
    await ada.ask('PATCH', `/repos/ada/${repository}`, { private: true });
    await openThread();
    await untilFannedOut();
    expect(await jobs()).toMatchObject([{ login: 'cleo', ...pending }]);
    expect((await drop()).status).toBe(204);
    expect(await jobs()).toMatchObject([{ login: 'cleo', ...lost }]);
    expect((await cleo.ask('GET', `/repos/ada/${repository}`)).status).toBe(404);
  });

  test('of a private repository waits for an open page of fan-out, and ends what it enqueued', async () => {
    await ada.ask('PATCH', `/repos/ada/${repository}`, { private: true });
    expect(await duringAPage(drop)).toBe(204);
    expect(await jobs()).toMatchObject([{ login: 'cleo', ...lost }]);
  });

  test('of a public repository keeps it, as anybody may read', async () => {
    await openThread();
    await untilFannedOut();
    await drop();
    expect(await jobs()).toMatchObject([
      { login: 'cleo', ...pending },
      { login: 'eve', ...pending },
    ]);
  });

  test('who leaves a private repository gets none of it', async () => {
    await ada.ask('PATCH', `/repos/ada/${repository}`, { private: true });
    await openThread();
    await untilFannedOut();
    await cleo.ask('DELETE', `/repos/ada/${repository}/collaborators/cleo`);
    expect(await jobs()).toMatchObject([{ login: 'cleo', ...lost }]);
  });
});

test('lowering what a member may do leaves their mail, as they still read', async () => {
  const path = `/repos/ada/${repository}/collaborators/cleo`;
  await ada.ask('PUT', path, { permission: 'admin' });
  await ada.ask('PATCH', `/repos/ada/${repository}`, { private: true });
  await openThread();
  await untilFannedOut();
  await ada.ask('PUT', path, { permission: 'pull' });
  expect(await jobs()).toMatchObject([{ login: 'cleo', ...pending }]);
});
