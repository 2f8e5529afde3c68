import type { ApiScope } from '@ghost/db';
import { hashToken } from '@ghost/operations';

import type { MatrixWorld, Place, Role, Visibility } from './matrix-world.js';

export type Permission = 'read' | 'write' | 'admin';

/** One request that is about to be sent. */
export interface Cell {
  world: MatrixWorld;
  role: Role;
  visibility: Visibility;
  place: Place;
}

/** What goes into the path (of its parameters, those that differ from the usual), the query and the body. */
export interface Details {
  params?: Record<string, string | number>;
  query?: Record<string, string>;
  body?: unknown;
}

/** What is promised of a route, without a look at its code. */
export interface Rule {
  /** `public`: no token is looked at; `anyone`: without one too; `account`: only with one. */
  open: 'public' | 'anyone' | 'account';
  /** Null: any token. */
  scope: ApiScope | null;
  /** In the repository of the path; null: there is none. */
  needs: Permission | null;
  /** When all is well. */
  status: number;
  details: (cell: Cell) => Details | Promise<Details>;
  /** Roles that get something else when nothing else stops them. */
  instead?: Partial<Record<Role, number>>;
}

type Given = Details | Rule['details'];

/** A route of a repository. */
function within(
  [scope, needs, status]: [ApiScope, Permission, number],
  given: Given = {},
  more: Partial<Rule> = {},
): Rule {
  return { open: 'account', scope, needs, status, details: detailsOf(given), ...more };
}

/** A route of a repository that those without an account read too, where it is public. */
function reading(scope: ApiScope): Rule {
  return within([scope, 'read', 200], {}, { open: 'anyone' });
}

/** A route about the asker. */
function own([scope, status]: [ApiScope | null, number], given: Given = {}): Rule {
  return { open: 'account', scope, needs: null, status, details: detailsOf(given) };
}

function unguarded(given: Given = {}): Rule {
  return { open: 'public', scope: null, needs: null, status: 200, details: detailsOf(given) };
}

function about(username: string): Rule {
  const details = detailsOf({ params: { username } });
  return { open: 'anyone', scope: 'repo', needs: null, status: 200, details };
}

function detailsOf(given: Given): Rule['details'] {
  return typeof given === 'function' ? given : () => given;
}

const asker = ({ world, role }: Cell) => world.accountOf(role);
const HOOK = { config: { url: 'https://receiver.example/other' } };

/** By the id of the route; several where it depends on what is asked. */
export const RULES: Readonly<Record<string, readonly Rule[]>> = {
  'get-repository': [reading('repo')],
  'edit-repository': [
    within(['repo', 'admin', 200], { body: { description: 'Described' } }),
    // Who may read it is changed only by a token that may change access.
    within(['admin', 'admin', 200], ({ visibility }) => ({
      body: { private: visibility === 'public' },
    })),
  ],
  'delete-repository': [within(['admin', 'admin', 204])],
  'list-collaborators': [within(['repo', 'write', 200])],
  'check-collaborator': [within(['repo', 'write', 204])],
  'get-collaborator-permission': [within(['repo', 'write', 200])],
  'add-collaborator': [
    within(['admin', 'admin', 204], { body: { permission: 'pull' } }),
    within(['admin', 'admin', 204], {
      params: { username: 'stranger' },
      body: { permission: 'admin' },
    }),
  ],
  'remove-collaborator': [
    within(['admin', 'admin', 204]),
    // Leaving; the owner cannot.
    within(['admin', 'read', 204], (cell) => ({ params: { username: asker(cell).login } }), {
      instead: { owner: 422 },
    }),
  ],
  'list-subscribers': [reading('repo')],
  'get-repository-subscription': [within(['repo', 'read', 200])],
  'set-repository-subscription': [within(['repo', 'read', 200], { body: { ignored: true } })],
  'delete-repository-subscription': [within(['repo', 'read', 204])],

  'list-threads': [reading('repo')],
  'open-thread': [within(['repo', 'read', 201], { body: { title: 'Another' } })],
  'get-thread': [reading('repo')],
  'edit-thread': [
    within(['repo', 'write', 200], { body: { title: 'Edited' } }),
    within(['repo', 'write', 200], { body: { state: 'closed' } }),
    within(['repo', 'read', 200], async (cell) => {
      const { number } = await cell.world.thread(cell.place.id, asker(cell));
      return { params: { number }, body: { title: 'My own' } };
    }),
  ],
  'get-thread-subscription': [within(['repo', 'read', 200])],
  'set-thread-subscription': [within(['repo', 'read', 200], { body: { ignored: true } })],
  'delete-thread-subscription': [within(['repo', 'read', 204])],
  'list-comments': [reading('repo')],
  'create-comment': [within(['repo', 'read', 201], { body: { body: 'Hello' } })],
  'get-comment': [withComment(reading('repo'))],
  'edit-comment': [
    withComment(within(['repo', 'write', 200], { body: { body: 'Edited' } })),
    withOwnComment(within(['repo', 'read', 200], { body: { body: 'My own' } })),
  ],
  'delete-comment': [
    withComment(within(['repo', 'write', 204])),
    withOwnComment(within(['repo', 'read', 204])),
  ],

  'list-hooks': [within(['hooks', 'admin', 200])],
  'create-hook': [within(['hooks', 'admin', 201], { body: HOOK })],
  'get-hook': [within(['hooks', 'admin', 200])],
  'edit-hook': [within(['hooks', 'admin', 200], { body: { active: false } })],
  'delete-hook': [within(['hooks', 'admin', 204])],
  'get-hook-config': [within(['hooks', 'admin', 200])],
  'edit-hook-config': [within(['hooks', 'admin', 200], { body: HOOK.config })],
  'ping-hook': [within(['hooks', 'admin', 204])],
  'test-hook': [within(['hooks', 'admin', 204])],
  'rotate-hook-secret': [within(['hooks', 'admin', 200], { body: { overlap_hours: 1 } })],
  'pause-hook': [within(['hooks', 'admin', 200])],
  'resume-hook': [within(['hooks', 'admin', 200])],
  'list-hook-deliveries': [within(['hooks', 'admin', 200])],
  'get-hook-delivery': [within(['hooks', 'admin', 200])],
  'list-hook-waiting': [within(['hooks', 'admin', 200])],
  'get-hook-event': [within(['hooks', 'admin', 200])],
  'list-hook-skipped': [within(['hooks', 'admin', 200])],
  'redeliver-hook-delivery': [within(['hooks', 'admin', 202])],
  'preview-hook-replay': [within(['hooks', 'admin', 200], () => ({ query: { since: lately() } }))],
  'start-hook-replay': [within(['hooks', 'admin', 202], () => ({ body: { since: lately() } }))],
  'list-hook-replays': [within(['hooks', 'admin', 200])],
  'get-hook-replay': [within(['hooks', 'admin', 200], withReplay)],
  'cancel-hook-replay': [within(['hooks', 'admin', 200], withReplay)],

  'create-repository': [
    own(['repo', 201], ({ world }) => ({ body: { name: world.fresh('made') } })),
  ],
  'list-own-repositories': [own(['repo', 200])],
  'list-watched-repositories': [own(['repo', 200])],
  'get-authenticated-user': [own([null, 200])],
  'get-mail-choices': [own(['repo', 200])],
  'edit-mail-choices': [own(['repo', 200], () => ({ body: { watching: true } }))],
  'list-emails': [own(['admin', 200])],
  'add-emails': [
    own(['admin', 201], ({ world }) => ({
      body: { emails: [`${world.fresh('new')}@people.example`] },
    })),
  ],
  'delete-emails': [
    own(['admin', 204], async (cell) => {
      const { email } = await cell.world.addAddress(asker(cell).id);
      return { body: { emails: [email] } };
    }),
  ],
  'set-primary-email': [
    own(['admin', 200], async (cell) => {
      const { email } = await cell.world.addAddress(asker(cell).id);
      return { body: { email } };
    }),
  ],
  'list-tokens': [own(['admin', 200])],
  'add-token': [own(['admin', 201], { body: { label: 'Another', scopes: ['repo'] } })],
  'revoke-token': [
    own(['admin', 204], async (cell) => {
      const { world } = cell;
      const id = await world.insert(
        `INSERT INTO api_token (account_id, label, token_hash, scopes) VALUES ($1, 'doomed', $2, '{repo}')`,
        [asker(cell).id, hashToken(world.fresh('doomed'))],
      );
      return { params: { id } };
    }),
  ],
  'get-user': [about('stranger')],
  'list-repositories-of-user': [about('owner')],

  // The link of a mail is the right to it.
  'show-unsubscribe': [unguarded(unsubscribeLink)],
  unsubscribe: [unguarded(unsubscribeLink)],
  'unsubscribe-from-repository': [unguarded(unsubscribeLink)],
  // Signed, and a raw message: what comes without either is nobody's.
  'report-mail-event': [{ ...unguarded(), status: 415 }],
  'show-verify-address': [unguarded(verificationLink)],
  'verify-address': [unguarded(verificationLink)],
  'get-openapi-document': [unguarded()],
  'get-health': [unguarded()],
  'get-readiness': [unguarded()],
  'get-metrics': [unguarded()],
};

/** On the victim's comment. */
function withComment(rule: Rule): Rule {
  return {
    ...rule,
    details: async (cell) => ({
      ...(await rule.details(cell)),
      params: { id: cell.place.commentId },
    }),
  };
}

/** On a comment of the asker. */
function withOwnComment(rule: Rule): Rule {
  return {
    ...rule,
    details: async (cell) => ({
      ...(await rule.details(cell)),
      params: { id: await cell.world.comment(cell.place.threadId, asker(cell)) },
    }),
  };
}

function lately(): string {
  return new Date(Date.now() - 60_000).toISOString();
}

/** A replay of the place's hook that waits for a wake, which nobody gives. */
async function withReplay({ world, place }: Cell): Promise<Details> {
  await world.api.pool.query('DELETE FROM hook_replay WHERE hook_id = $1', [place.hookId]);
  const replay_id = await world.insert(
    `INSERT INTO hook_replay (hook_id, which, since, until, account, total, ahead, next_at)
     VALUES ($1, 'failed', now() - interval '1 hour', now(), 'owner', 5, 20, 'infinity')`,
    [place.hookId],
  );
  return { params: { replay_id } };
}

function unsubscribeLink({ world, place }: Cell): Details {
  const accountId = world.person('victim').id;
  return { params: { token: world.unsubscribe.sign({ threadId: place.threadId, accountId }) } };
}

async function verificationLink({ world }: Cell): Promise<Details> {
  const { id } = await world.addAddress(world.person('victim').id);
  return { params: { token: world.verificationLink(id) } };
}
