import type { Octokit } from '@octokit/rest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { freePort } from '../support/ghost-processes.js';
import { readGithubSchema } from '../support/github-schema.js';
import { addDelivery } from '../support/hook-delivery.js';
import { type RecordedOctokit, recordOctokit, refusalOf } from '../support/recorded-octokit.js';
import { type Person, startTestApi, type TestApi } from '../support/test-api.js';
import {
  BEHAVIOUR_DIFFERENCES,
  type BehaviourName,
  explains,
  SHAPE_DIFFERENCES,
} from './github-differences.js';

// An Octokit that knows nothing of Ghost but its address. All that it asks and gets is recorded, and at
// the end compared with what GitHub publishes.

const HOOK_URL = 'https://receiver.example/hook';
const ENGINE = { owner: 'ada', repo: 'engine' };

const github = readGithubSchema();

let api: TestApi;
let recorded: RecordedOctokit;
let people: Record<'ada' | 'bob', Person>;
let ada: Octokit;
let bob: Octokit;

beforeAll(async () => {
  // Links lead to where the API is known to be, so it must know the port beforehand.
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  api = await startTestApi({
    env: { PORT: String(port), GHOST_PUBLIC_URL: origin, GHOST_RATE_LIMIT: '5000' },
  });
  recorded = recordOctokit(`${origin}/api`);
  people = { ada: await api.addPerson('ada'), bob: await api.addPerson('bob') };
  ada = recorded.octokit(people.ada.token);
  bob = recorded.octokit(people.bob.token);
});
afterAll(() => api.stop());

/** Of what is refused. */
const status = async (asked: Promise<unknown>) => (await refusalOf(asked)).status;

describe('repositories', () => {
  test('are made, found, listed and edited', async () => {
    const made = await ada.repos.createForAuthenticatedUser({
      name: 'engine',
      description: 'Analytical',
    });
    expect(made).toMatchObject({ status: 201, data: { full_name: 'ada/engine', private: true } });
    const got = await ada.repos.get(ENGINE);
    expect(got).toMatchObject({ status: 200, data: { id: made.data.id, name: 'engine' } });
    const edited = await ada.repos.update({ ...ENGINE, visibility: 'public' });
    expect(edited.data).toMatchObject({ private: false, visibility: 'public' });
    const described = await ada.repos.update({ ...ENGINE, private: false, description: 'Of 1843' });
    expect(described.data.description).toBe('Of 1843');
  });

  test('are listed over pages by paginate', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await ada.repos.createForAuthenticatedUser({ name });
    const all = await ada.paginate(ada.repos.listForAuthenticatedUser, { per_page: 2 });
    expect(all.map(({ name }) => name).toSorted()).toEqual(['a', 'b', 'c', 'd', 'engine']);
    const nobody = recorded.octokit();
    const ofAda = { username: 'ada', per_page: 1 };
    const seen = await nobody.paginate(nobody.repos.listForUser, ofAda);
    expect(seen.map(({ name }) => name)).toEqual(['engine']);
  });

  test('that are private look like none', async () => {
    const hidden = await refusalOf(bob.repos.get({ owner: 'ada', repo: 'a' }));
    const absent = await refusalOf(bob.repos.get({ owner: 'ada', repo: 'nothing' }));
    expect(hidden.status).toBe(404);
    expect(absent).toEqual(hidden);
    expect((await recorded.octokit().repos.get(ENGINE)).status).toBe(200);
  });

  test('are not sent again to who has them already', async () => {
    const { headers } = await ada.repos.get(ENGINE);
    const known = { 'if-none-match': headers.etag };
    expect(await status(ada.repos.get({ ...ENGINE, headers: known }))).toBe(304);
    expect(headers['x-ratelimit-remaining']).toMatch(/^\d+$/u);
  });

  test('refuse what is wrong', async () => {
    expect(await status(ada.repos.createForAuthenticatedUser({ name: 'engine' }))).toBe(422);
    expect(await status(bob.repos.update({ ...ENGINE, description: 'x' }))).toBe(403);
    expect(await status(bob.repos.delete(ENGINE))).toBe(403);
    const nobody = recorded.octokit('ghost_nobody');
    expect(await status(nobody.repos.listForAuthenticatedUser())).toBe(401);
  });
});

describe('collaborators', () => {
  const BOB = { ...ENGINE, username: 'bob' };

  test('are added, checked, listed, and removed', async () => {
    expect(await status(ada.repos.checkCollaborator(BOB))).toBe(404);
    expect((await ada.repos.addCollaborator({ ...BOB, permission: 'push' })).status).toBe(204);
    expect((await ada.repos.checkCollaborator(BOB)).status).toBe(204);
    const listed = await ada.paginate(ada.repos.listCollaborators, { ...ENGINE, per_page: 1 });
    expect(listed.find(({ login }) => login === 'bob')).toMatchObject({ role_name: 'write' });
    const { data } = await ada.repos.getCollaboratorPermissionLevel(BOB);
    expect(data).toMatchObject({ permission: 'write', user: { login: 'bob' } });
    expect((await ada.repos.removeCollaborator(BOB)).status).toBe(204);
    expect(await status(ada.repos.checkCollaborator(BOB))).toBe(404);
  });
});

describe('watching', () => {
  test('is set, read, listed and ended', async () => {
    expect(await status(bob.activity.getRepoSubscription(ENGINE))).toBe(404);
    const set = await bob.activity.setRepoSubscription({ ...ENGINE, subscribed: true });
    expect(set.data).toMatchObject({ subscribed: true, ignored: false });
    expect((await bob.activity.getRepoSubscription(ENGINE)).data).toEqual(set.data);
    const watchers = await ada.paginate(ada.activity.listWatchersForRepo, ENGINE);
    expect(watchers.map(({ login }) => login)).toContain('bob');
    const watched = await bob.paginate(bob.activity.listWatchedReposForAuthenticatedUser);
    expect(watched.map(({ full_name: name }) => name)).toContain('ada/engine');
    const ignored = await bob.activity.setRepoSubscription({ ...ENGINE, ignored: true });
    expect(ignored.data).toMatchObject({ subscribed: false, ignored: true });
    expect((await bob.activity.deleteRepoSubscription(ENGINE)).status).toBe(204);
    expect(await status(bob.activity.getRepoSubscription(ENGINE))).toBe(404);
  });
});

describe('hooks', () => {
  test('are made, found, listed, edited, tried and deleted', async () => {
    const made = await ada.repos.createWebhook({
      ...ENGINE,
      name: 'web',
      active: true,
      events: ['comment.created'],
      config: { url: HOOK_URL, content_type: 'json', secret: 'a secret of mine' },
    });
    expect(made.status).toBe(201);
    const hook = { ...ENGINE, hook_id: made.data.id };
    expect((await ada.repos.getWebhook(hook)).data).toMatchObject({ id: made.data.id });
    await ada.repos.createWebhook({ ...ENGINE, config: { url: HOOK_URL } });
    const listed = await ada.paginate(ada.repos.listWebhooks, { ...ENGINE, per_page: 1 });
    expect(listed).toHaveLength(2);
    const edited = await ada.repos.updateWebhook({
      ...hook,
      active: false,
      add_events: ['thread.opened'],
      config: { url: `${HOOK_URL}/2`, content_type: 'json' },
    });
    expect(edited.data).toMatchObject({
      active: false,
      events: ['comment.created', 'thread.opened'],
      config: { url: `${HOOK_URL}/2`, secret: '********' },
    });
    expect((await ada.repos.getWebhookConfigForRepo(hook)).data).toEqual(edited.data.config);
    // In `data`, as Octokit takes a parameter called "url" for the URL to ask.
    const data = { url: HOOK_URL, secret: 'another one of mine' };
    const config = await ada.repos.updateWebhookConfigForRepo({ ...hook, data });
    expect(config.data.url).toBe(HOOK_URL);
    expect((await ada.repos.pingWebhook(hook)).status).toBe(204);
    expect((await ada.repos.testPushWebhook(hook)).status).toBe(204);
    expect((await ada.repos.deleteWebhook(hook)).status).toBe(204);
    expect(await status(ada.repos.getWebhook(hook))).toBe(404);
  });

  test('refuse what is wrong', async () => {
    const url = 'http://127.0.0.1/';
    const answer = await refusalOf(ada.repos.createWebhook({ ...ENGINE, config: { url } }));
    expect(answer).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'config.url', code: 'url_not_allowed' }] },
    });
    expect(await status(ada.repos.getWebhook({ ...ENGINE, hook_id: 999_999 }))).toBe(404);
  });

  test('refuse who may not, and what is malformed', async () => {
    expect(await status(bob.repos.listWebhooks(ENGINE))).toBe(403);
    expect(await status(recorded.octokit('ghost_nobody').repos.listWebhooks(ENGINE))).toBe(401);
    const made = await ada.repos.createWebhook({ ...ENGINE, config: { url: HOOK_URL } });
    const hook = { ...ENGINE, hook_id: made.data.id };
    const headers = { 'if-match': 'no tag' };
    expect(await status(ada.repos.deleteWebhook({ ...hook, headers }))).toBe(400);
  });

  test('are not overwritten by who read them before another edit', async () => {
    const made = await ada.repos.createWebhook({ ...ENGINE, config: { url: HOOK_URL } });
    const hook = { ...ENGINE, hook_id: made.data.id };
    const stale = { 'if-match': (await ada.repos.getWebhook(hook)).headers.etag };
    await ada.repos.updateWebhook({ ...hook, active: false });
    const late = ada.repos.updateWebhook({ ...hook, active: true, headers: stale });
    expect(await status(late)).toBe(412);
  });
});

/** A hook with deliveries that ended, and the ids of their attempts. */
async function hookWithDeliveries(many: number) {
  const { data: repository } = await ada.repos.get(ENGINE);
  const made = await ada.repos.createWebhook({ ...ENGINE, config: { url: HOOK_URL } });
  const ids: number[] = [];
  for (let n = 0; n < many; n++) {
    const hook = { id: made.data.id, repositoryId: repository.id };
    ids.push((await addDelivery(api.pool, hook)).attemptId);
  }
  return { hook: { ...ENGINE, hook_id: made.data.id }, ids };
}

describe('deliveries of a hook', () => {
  test('are listed over pages, found, and sent again', async () => {
    const { hook, ids } = await hookWithDeliveries(3);
    const listed = await ada.paginate(ada.repos.listWebhookDeliveries, { ...hook, per_page: 1 });
    expect(listed.map(({ id }) => id)).toEqual(ids.toReversed());
    const delivery = { ...hook, delivery_id: ids[0] ?? 0 };
    const found = await ada.repos.getWebhookDelivery(delivery);
    expect(found.data).toMatchObject({ ...listed[2], request: { payload: { hello: 'world' } } });
    expect((await ada.repos.redeliverWebhookDelivery(delivery)).status).toBe(202);
    const absent = { ...hook, delivery_id: 999_999 };
    expect(await status(ada.repos.getWebhookDelivery(absent))).toBe(404);
  });
});

describe('people', () => {
  test('see themselves and others', async () => {
    const self = await ada.users.getAuthenticated();
    expect(self.data).toMatchObject({ login: 'ada', id: people.ada.id });
    const other = await ada.users.getByUsername({ username: 'bob' });
    expect(other.data).toMatchObject({ login: 'bob', id: people.bob.id });
    expect(await status(ada.users.getByUsername({ username: 'nobody' }))).toBe(404);
  });

  test('have addresses, one of them primary', async () => {
    const added = await ada.users.addEmailForAuthenticatedUser({ emails: ['ada@two.example'] });
    expect(added).toMatchObject({
      status: 201,
      data: [{ email: 'ada@two.example', primary: false, verified: false }],
    });
    const listed = await ada.paginate(ada.users.listEmailsForAuthenticatedUser, { per_page: 1 });
    expect(listed).toMatchObject([
      { email: 'ada@people.example', primary: true, verified: true },
      { email: 'ada@two.example', primary: false },
    ]);
    const gone = await ada.users.deleteEmailForAuthenticatedUser({ emails: ['ada@two.example'] });
    expect(gone.status).toBe(204);
    const wrong = ada.users.addEmailForAuthenticatedUser({ emails: ['not an address'] });
    expect(await status(wrong)).toBe(422);
  });
});

/** Each shows the difference of its name. */
const BEHAVIOURS: Record<BehaviourName, () => Promise<void>> = {
  'private by default': async () => {
    const { data } = await ada.repos.createForAuthenticatedUser({ name: 'plain' });
    expect(data).toMatchObject({ private: true, visibility: 'private' });
  },
  'pages by key': async () => {
    const second = ada.repos.listForAuthenticatedUser({ per_page: 1, page: 2 });
    expect(await status(second)).toBe(422);
  },
  'events of hooks': async () => {
    const { data } = await ada.repos.createWebhook({ ...ENGINE, config: { url: HOOK_URL } });
    expect(data.events).toEqual(['*']);
    const pushes = { ...ENGINE, events: ['push'], config: { url: HOOK_URL } };
    expect(await status(ada.repos.createWebhook(pushes))).toBe(422);
  },
  'a secret always': async () => {
    const { data } = await ada.repos.createWebhook({ ...ENGINE, config: { url: HOOK_URL } });
    expect(data.config.secret).toMatch(/^whsec_/u);
    const { data: shown } = await ada.repos.getWebhook({ ...ENGINE, hook_id: data.id });
    expect(shown.config.secret).toBe('********');
  },
  'secrets stay': async () => {
    const { data } = await ada.repos.createWebhook({ ...ENGINE, config: { url: HOOK_URL } });
    const hook = { ...ENGINE, hook_id: data.id };
    const { data: edited } = await ada.repos.updateWebhook({ ...hook, config: { url: HOOK_URL } });
    expect(edited.config.secret).toBe('********');
    const masked = { url: HOOK_URL, secret: '********' };
    expect(await status(ada.repos.updateWebhook({ ...hook, config: masked }))).toBe(422);
  },
  'one form of hook': async () => {
    const config = { url: HOOK_URL, content_type: 'form' };
    expect(await status(ada.repos.createWebhook({ ...ENGINE, config }))).toBe(422);
  },
  'tests are pings': async () => {
    const { data } = await ada.repos.createWebhook({ ...ENGINE, config: { url: HOOK_URL } });
    const before = (await api.eventsOf('ping')).length;
    await ada.repos.testPushWebhook({ ...ENGINE, hook_id: data.id });
    expect((await api.eventsOf('ping')).slice(before)).toMatchObject([{ hook_id: data.id }]);
  },
  'deliveries by outcome': async () => {
    const { hook, ids } = await hookWithDeliveries(2);
    await api.pool.query(
      `UPDATE delivery_attempt SET outcome = 'retry', reason = 'dns_timeout', status = NULL WHERE id = $1`,
      [ids[0]],
    );
    const failed = await ada.repos.listWebhookDeliveries({ ...hook, status: 'failure' });
    expect(failed.data).toMatchObject([{ id: ids[0], status: 'dns_timeout', status_code: 0 }]);
    const delivered = await ada.repos.listWebhookDeliveries({ ...hook, status: 'success' });
    expect(delivered.data).toMatchObject([{ id: ids[1], status: 'OK', status_code: 200 }]);
  },
  'not twice at once': async () => {
    const { hook, ids } = await hookWithDeliveries(1);
    const delivery = { ...hook, delivery_id: ids[0] ?? 0 };
    await ada.repos.redeliverWebhookDelivery(delivery);
    expect(await status(ada.repos.redeliverWebhookDelivery(delivery))).toBe(409);
  },
  'no invitations': async () => {
    const { status } = await ada.repos.addCollaborator({ ...ENGINE, username: 'bob' });
    expect(status).toBe(204);
  },
  'unknown fields': async () => {
    const options = { name: 'misspelt', privat: false };
    const { status, body } = await refusalOf(ada.repos.createForAuthenticatedUser(options));
    expect(status).toBe(422);
    expect(body).toMatchObject({ errors: [{ field: 'privat', code: 'unknown_field' }] });
  },
  'no other name': async () => {
    for (const edit of [{ name: 'motor' }, { archived: true }]) {
      expect(await status(ada.repos.update({ ...ENGINE, ...edit }))).toBe(422);
    }
  },
  'three permissions': async () => {
    for (const permission of ['triage', 'maintain'] as const) {
      const added = ada.repos.addCollaborator({ ...ENGINE, username: 'bob', permission });
      expect(await status(added)).toBe(422);
    }
  },
  'lists by creation': async () => {
    expect(await status(ada.repos.listForAuthenticatedUser({ sort: 'updated' }))).toBe(422);
    expect(await status(ada.repos.listForAuthenticatedUser({ per_page: 200 }))).toBe(422);
  },
  'scopes alone': async () => {
    const body = { label: 'hooks alone', scopes: ['hooks'] };
    const { token } = (await people.ada.ask('POST', '/user/tokens', body)).body;
    await ada.repos.update({ ...ENGINE, private: false });
    expect(await status(recorded.octokit(token).repos.get(ENGINE))).toBe(403);
    expect((await recorded.octokit().repos.get(ENGINE)).status).toBe(200);
  },
};

describe('intended differences from GitHub', () => {
  test.each(Object.keys(BEHAVIOUR_DIFFERENCES) as BehaviourName[])('%s', (name) =>
    BEHAVIOURS[name](),
  );
});

test('a repository is deleted, and gone', async () => {
  const doomed = { owner: 'ada', repo: 'd' };
  expect((await ada.repos.delete(doomed)).status).toBe(204);
  expect(await status(ada.repos.get(doomed))).toBe(404);
});

describe('compared with what GitHub publishes', () => {
  const findings = () => recorded.exchanges.flatMap((exchange) => github.compare(exchange));

  test('every answer fits, but for the intended differences', () => {
    const unexplained = findings()
      .filter((finding) => !SHAPE_DIFFERENCES.some((difference) => explains(difference, finding)))
      .map(({ route, status, what }) => `${route} ${status}: ${what}`);
    expect([...new Set(unexplained)]).toEqual([]);
  });

  test('every intended difference is still one', () => {
    const found = findings();
    const superfluous = SHAPE_DIFFERENCES.filter(
      (difference) => !found.some((finding) => explains(difference, finding)),
    );
    expect(superfluous).toEqual([]);
  });

  test("every route of GitHub's was asked, and answered what was wished", () => {
    const asked = new Set(
      recorded.exchanges.filter(({ status }) => status < 300).map((each) => github.routeOf(each)),
    );
    expect(github.routes.filter((route) => !asked.has(route))).toEqual([]);
  });
});
