import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type Permission, type Rule, RULES } from '../../../test/support/matrix-rules.js';
import {
  MatrixWorld,
  type Place,
  type Role,
  ROLES,
  type Visibility,
} from '../../../test/support/matrix-world.js';

/** What tells one answer from another of the same content. */
const OF_THE_MOMENT = /^(?:date|x-request-id|x-ratelimit-.*|retry-after)$/u;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
const BOTH: readonly Visibility[] = ['public', 'private'];
const LEVELS: readonly (Permission | 'none')[] = ['none', 'read', 'write', 'admin'];

interface Operation {
  method: string;
  path: string;
  security: readonly Record<string, readonly string[]>[];
}
interface Seen {
  status: number;
  headers: Record<string, string>;
  body: string;
}

let world: MatrixWorld;
let operations: Map<string, Operation>;

beforeAll(async () => {
  world = await MatrixWorld.start();
  const answer = await fetch(`${world.api.url}/api/openapi.json`);
  const { paths } = (await answer.json()) as {
    paths: Record<string, Record<string, { operationId: string; security: Operation['security'] }>>;
  };
  operations = new Map(
    Object.entries(paths).flatMap(([path, item]) =>
      METHODS.flatMap((method) => {
        const found = item[method];
        if (found === undefined) return [];
        const { operationId, security } = found;
        return [[operationId, { method: method.toUpperCase(), path, security }] as const];
      }),
    ),
  );
});
afterAll(() => world.stop());

test('every route has a rule, and every rule a route', () => {
  expect(Object.keys(RULES).sort()).toEqual([...operations.keys()].sort());
});

test('the document says of each route who may call it', () => {
  for (const [id, operation] of operations) {
    const { open, scope } = RULES[id]?.[0] ?? {};
    const token = { token: scope === null || scope === undefined ? [] : [scope] };
    const declared = { public: [], account: [token], anyone: [token, {}] }[open ?? 'public'];
    expect({ id, security: operation.security }).toEqual({ id, security: declared });
  }
});

const rows = Object.entries(RULES).flatMap(([id, rules]) =>
  rules.map((rule, index) => ({ id, rule, name: index === 0 ? id : `${id} (${index + 1})` })),
);

describe('each role is answered as promised, and learns nothing of what it may not read', () => {
  test.each(rows)('$name', async ({ id, rule }) => {
    const operation = operations.get(id);
    if (operation === undefined) throw new Error(`There is no route ${id}`);
    const faults: string[] = [];
    const visibilities = rule.needs === null ? (['public'] as const) : BOTH;
    for (const visibility of visibilities) {
      let place: Place | undefined;
      for (const role of ROLES) {
        place ??= await world.place(visibility);
        const changed = await checkCell({ operation, rule, visibility, role, place }, faults);
        if (changed) place = undefined;
      }
    }
    expect(faults).toEqual([]);
  });
});

test('what belongs to another repository is not found in this one', async () => {
  const [here, there] = [await world.place('public'), await world.place('private')];
  const lately = new Date(Date.now() - 60_000).toISOString();
  const stranger = world.person('stranger');
  const admin = world.person('admin');
  for (const [person, method, path, body] of [
    [stranger, 'GET', `/threads/comments/${there.commentId}`, undefined],
    [admin, 'PATCH', `/threads/comments/${there.commentId}`, { body: 'Moved' }],
    [admin, 'DELETE', `/threads/comments/${there.commentId}`, undefined],
    [admin, 'GET', `/hooks/${there.hookId}`, undefined],
    [admin, 'PATCH', `/hooks/${there.hookId}`, { active: false }],
    [admin, 'PATCH', `/hooks/${there.hookId}/config`, { headers: { 'x-a': 'b' } }],
    [admin, 'POST', `/hooks/${there.hookId}/secret-rotations`, {}],
    [admin, 'PUT', `/hooks/${there.hookId}/pause`, undefined],
    [admin, 'DELETE', `/hooks/${there.hookId}/pause`, undefined],
    [admin, 'GET', `/hooks/${there.hookId}/deliveries`, undefined],
    [admin, 'GET', `/hooks/${there.hookId}/waiting`, undefined],
    [admin, 'GET', `/hooks/${there.hookId}/skipped`, undefined],
    [admin, 'GET', `/hooks/${there.hookId}/events/${there.eventId}`, undefined],
    [admin, 'GET', `/hooks/${here.hookId}/events/${there.eventId}`, undefined],
    [admin, 'GET', `/hooks/${there.hookId}/deliveries/${there.deliveryId}`, undefined],
    [admin, 'POST', `/hooks/${there.hookId}/deliveries/${there.deliveryId}/attempts`, undefined],
    [admin, 'GET', `/hooks/${here.hookId}/deliveries/${there.deliveryId}`, undefined],
    [admin, 'POST', `/hooks/${here.hookId}/deliveries/${there.deliveryId}/attempts`, undefined],
    [admin, 'GET', `/hooks/${there.hookId}/replays/preview?since=${lately}`, undefined],
    [admin, 'POST', `/hooks/${there.hookId}/replays`, { since: lately }],
    [admin, 'GET', `/hooks/${there.hookId}/replays`, undefined],
    [admin, 'DELETE', `/hooks/${there.hookId}`, undefined],
  ] as const) {
    const answer = await person.ask(method, `/repos/owner/${here.name}${path}`, body);
    expect({ method, path, status: answer.status }).toEqual({ method, path, status: 404 });
  }
});

interface Asked {
  operation: Operation;
  rule: Rule;
  visibility: Visibility;
  role: Role;
  place: Place;
}

/** Adds what is wrong to `faults`. @returns whether the place may have changed */
async function checkCell(asked: Asked, faults: string[]): Promise<boolean> {
  const { operation, rule, visibility, role, place } = asked;
  const cell = `${visibility}, ${role}`;
  const details = await rule.details({ world, role, visibility, place });
  const token = await world.tokenOf(role, rule.scope);
  const expected = expectedStatus(rule, visibility, role);
  const send = (method: string, repository: string) =>
    request(method, pathOf(operation.path, place, repository, details), {
      token,
      body: details.body,
    });
  const seen = await send(operation.method, place.name);
  if (seen.status !== expected) {
    faults.push(`${cell}: ${seen.status} instead of ${expected} ${seen.body.slice(0, 200)}`);
  }
  if (rule.needs !== null && visibility === 'private' && !mayKnow(asked)) {
    for (const method of operation.method === 'GET' ? ['GET', 'HEAD'] : [operation.method]) {
      const hidden = method === 'HEAD' ? await send(method, place.name) : seen;
      const absent = await send(method, 'absent');
      if (JSON.stringify(hidden) !== JSON.stringify(absent)) {
        faults.push(
          `${cell}: ${method} tells ${JSON.stringify(hidden)} from ${JSON.stringify(absent)}`,
        );
      }
    }
  }
  return operation.method !== 'GET' && seen.status < 300;
}

/** What each role may do in a private repository; by a token that is not good for it, nothing. */
const PERMISSIONS: Readonly<Record<Role, Permission | 'none'>> = {
  anonymous: 'none',
  stranger: 'none',
  reader: 'read',
  writer: 'write',
  admin: 'admin',
  owner: 'admin',
  'wrong scope': 'none',
  'expired token': 'none',
  'revoked token': 'none',
};

/** Whether somebody may learn that a private repository is there: one who may read it, by a token for that. */
function mayKnow({ operation, rule, role }: Asked): boolean {
  if (role === 'wrong scope') {
    // Unless the route takes the token, and finds only inside that this wish needs another.
    return !operation.security.some(({ token }) => token?.includes(rule.scope ?? ''));
  }
  return PERMISSIONS[role] !== 'none';
}

function expectedStatus(rule: Rule, visibility: Visibility, role: Role): number {
  if (rule.open === 'public') return rule.status;
  if (role === 'expired token' || role === 'revoked token') return 401;
  if (role === 'anonymous' && rule.open === 'account') return 401;
  if (role === 'wrong scope' && rule.scope !== null) return 403;
  if (rule.needs !== null) {
    const inPrivate = LEVELS.indexOf(PERMISSIONS[role]);
    const level = visibility === 'public' ? Math.max(inPrivate, LEVELS.indexOf('read')) : inPrivate;
    if (level === 0) return 404;
    if (level < LEVELS.indexOf(rule.needs)) return 403;
  }
  return rule.instead?.[role] ?? rule.status;
}

type Params = Readonly<Record<string, string | number>>;

function pathOf(
  template: string,
  place: Place,
  repository: string,
  { params = {}, query }: { params?: Params; query?: Record<string, string> },
): string {
  const usual: Params = {
    owner: 'owner',
    repo: repository,
    number: 1,
    id: place.hookId,
    delivery_id: place.deliveryId,
    event_id: place.eventId,
    username: 'victim',
  };
  const path = template.replace(/\{(\w+)\}/gu, (_text, name: string) => {
    const value = params[name] ?? usual[name];
    if (value === undefined) throw new Error(`Nothing is known for {${name}} of ${template}`);
    return encodeURIComponent(String(value));
  });
  return query === undefined ? path : `${path}?${new URLSearchParams(query).toString()}`;
}

async function request(
  method: string,
  path: string,
  { token, body }: { token: string | null; body: unknown },
): Promise<Seen> {
  const answer = await fetch(`${world.api.url}${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const headers = [...answer.headers].filter(([name]) => !OF_THE_MOMENT.test(name));
  return {
    status: answer.status,
    headers: Object.fromEntries(headers),
    body: await answer.text(),
  };
}
