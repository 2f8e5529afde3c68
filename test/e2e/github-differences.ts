import type { Finding } from '../support/github-schema.js';

/** Where Ghost's answers are meant to be other than GitHub publishes, as the schemas show it. */
export interface ShapeDifference {
  /** `*`, or a route as GitHub names it. */
  route: string;
  /** Of the answer; left out: any. */
  status?: number;
  /** What the comparison finds: see {@link Finding}. */
  what: string;
  /** What Ghost does. */
  ghost: string;
  why: string;
}

/** Where Ghost behaves in another way; a test of the same name shows it. */
export interface BehaviourDifference {
  ghost: string;
  github: string;
  why: string;
}

const ERRORS = { route: '*', status: 422 } as const;

/** Each is needed: the test fails when one is no longer found, and when one is missing here. */
export const SHAPE_DIFFERENCES: readonly ShapeDifference[] = [
  {
    ...ERRORS,
    what: 'required documentation_url',
    ghost: 'A 422 has no `documentation_url`.',
    why: 'The sentence in `message` says what to do, and `code` is for programs.',
  },
  {
    route: '*',
    what: 'extra code',
    ghost: 'Every error has a `code`.',
    why: 'It is stable, where a message may be worded better one day.',
  },
  {
    route: '*',
    status: 400,
    what: 'status',
    ghost: 'What cannot be read at all, such as JSON or `If-Match`, is a 400 on every route.',
    why: 'GitHub publishes it for a few routes only.',
  },
  {
    route: '*',
    status: 401,
    what: 'status',
    ghost: 'No token, or one that is not valid, is a 401 on every route that needs one.',
    why: 'GitHub publishes it for a few routes only.',
  },
  {
    route: '*',
    status: 403,
    what: 'status',
    ghost: 'Who may read a repository and no more gets a 403 that says what is missing.',
    why: 'GitHub says 404 on some routes; that there is a repository is known already.',
  },
  {
    route: '*',
    status: 304,
    what: 'status',
    ghost: 'Every GET answers 304 to a matching `If-None-Match`.',
    why: 'GitHub does so too, but publishes it for a few routes only.',
  },
  {
    route: '*',
    status: 412,
    what: 'status',
    ghost: 'An edit or a deletion with a stale `If-Match` is a 412.',
    why: 'GitHub heeds no `If-Match`: of two who edit, the last silently wins.',
  },
  {
    route: '*',
    status: 404,
    what: 'body',
    ghost: 'Every 404 has a body.',
    why: 'GitHub sends one too, but publishes none for a few routes.',
  },
  {
    route: '*',
    what: 'extra config.github_signature',
    ghost: 'The `config` of a hook holds `github_signature`: whether it also signs as GitHub does.',
    why: "Ghost's own signatures name the time, so that a recording cannot be replayed; GitHub's do not.",
  },
  {
    route: '*',
    what: 'extra github_signature',
    ghost: 'So does the config that is asked for alone.',
    why: 'The same object.',
  },
  {
    route: '*',
    what: 'extra config.rate_limit',
    ghost: 'The `config` of a hook holds `rate_limit`: the most deliveries in any minute, or null.',
    why: 'GitHub sends as fast as it can; a small receiver needs a bound.',
  },
  {
    route: '*',
    what: 'extra rate_limit',
    ghost: 'So does the config that is asked for alone.',
    why: 'The same object.',
  },
  {
    route: '*',
    what: 'extra config.headers',
    ghost: 'The `config` of a hook holds `headers`: its custom headers, each value as its mask.',
    why: 'GitHub sends none; receivers behind a gateway need a key of their own.',
  },
  {
    route: '*',
    what: 'extra headers',
    ghost: 'So does the config that is asked for alone.',
    why: 'The same object.',
  },
  {
    route: '*',
    what: 'extra config.standard_secret',
    ghost:
      'The answer that sets a secret without `whsec_` holds `config.standard_secret`: the same secret in that form.',
    why: 'Standard Webhooks libraries take no other, and it is what was just sent.',
  },
  {
    route: '*',
    what: 'extra standard_secret',
    ghost: 'So does the config that is edited alone.',
    why: 'The same object.',
  },
  {
    route: '*',
    what: 'extra filters',
    ghost: 'A hook has `filters`: what must hold of the payload of an event that is sent to it.',
    why: 'GitHub filters by events alone.',
  },
  {
    route: '*',
    what: 'extra held',
    ghost: 'A hook has `held`: why nothing is sent to it until somebody resumes it, or `null`.',
    why: 'GitHub never stops sending; what is held is kept, and its people must see it.',
  },
  {
    route: '*',
    what: 'extra failing_since',
    ghost: 'A hook has `failing_since`: the first failure since the last success, or `null`.',
    why: 'GitHub tells the newest answer alone; a hook that fails for long is disabled here.',
  },
  {
    route: '*',
    what: 'extra secret_rotation',
    ghost:
      'A hook has `secret_rotation`: until when the secret before signs too, with a hint when the receiver seems to have it still, or `null`.',
    why: 'GitHub replaces a secret at once.',
  },
  {
    route: '*',
    what: 'extra explanation',
    ghost:
      'A delivery has `explanation`: why it came to that in a sentence and a code, milliseconds of each phase, and what happens next.',
    why: 'GitHub tells the status alone.',
  },
  {
    route: '*',
    status: 404,
    what: 'status',
    ghost: 'A delivery that is not there is a 404.',
    why: 'GitHub says so too, and publishes it for other routes only.',
  },
  {
    route: '*',
    status: 409,
    what: 'status',
    ghost: 'What cannot be sent again is a 409 that says why.',
    why: 'GitHub publishes no such answer.',
  },
  {
    route: 'GET /user/repos',
    what: 'extra network_count',
    ghost: 'A repository has `network_count` in lists too.',
    why: 'A repository looks the same everywhere.',
  },
  {
    route: 'GET /user/repos',
    what: 'extra subscribers_count',
    ghost: 'A repository has `subscribers_count` in lists too.',
    why: 'A repository looks the same everywhere.',
  },
];

export const BEHAVIOUR_DIFFERENCES = {
  'private by default': {
    ghost: 'A repository is private unless `private` or `visibility` says otherwise.',
    github: 'Public.',
    why: 'Nothing becomes public by oversight.',
  },
  'pages by key': {
    ghost: 'Lists have no `page`: follow `rel="next"` of `Link`. `page=2` is a 422.',
    github: 'Pages have numbers.',
    why: 'A page costs the same at every depth, and rows that come or go shift nothing.',
  },
  'events of hooks': {
    ghost:
      "Hooks know Ghost's events, such as `comment.created`; without `events` a hook gets all. Others are a 422.",
    github: '`push` and others; `["push"]` by default.',
    why: 'Ghost has threads and comments, and no pushes.',
  },
  'a secret always': {
    ghost: 'A hook without a `secret` gets one, which the answer that makes it shows, once.',
    github: 'The webhooks are not signed.',
    why: 'A receiver can always verify.',
  },
  'secrets stay': {
    ghost: 'An edit without `secret` leaves it as it is; the mask `********` is a 422.',
    github: 'The secret is removed.',
    why: 'Saving a form must not break what it does not show.',
  },
  'one form of hook': {
    ghost: '`content_type` is `json`; others are a 422.',
    github: '`form` by default.',
    why: 'One body that every scheme signs.',
  },
  'tests are pings': {
    ghost: '`POST …/tests` sends a ping.',
    github: 'The last push.',
    why: 'There are no pushes.',
  },
  'deliveries by outcome': {
    ghost:
      'Deliveries with `status=success` are those that were delivered, with `failure` those that were neither delivered nor cancelled; `status_code` is 0 where no answer came.',
    github: 'By ranges of the status code, so that what got no answer is in neither.',
    why: 'What never came to an answer is what one looks for.',
  },
  'not twice at once': {
    ghost:
      'A delivery that waits to be sent is not sent again besides: 409, with when it is tried.',
    github: 'It is.',
    why: 'It is sent anyway; once it has ended it can be sent again as often as one likes.',
  },
  'no invitations': {
    ghost: 'A collaborator is one at once: 204.',
    github: '201 with an invitation, which waits to be accepted.',
    why: 'Nothing waits for an answer; who does not want to be one leaves.',
  },
  'unknown fields': {
    ghost: 'An unknown field or query parameter is a 422 that names it.',
    github: 'It is ignored.',
    why: 'A field that is misspelt must not seem to have worked.',
  },
  'no other name': {
    ghost: 'A repository cannot be renamed or archived: `name` and `archived: true` are a 422.',
    github: 'It is, and the former name leads to the new one.',
    why: 'A name that no longer leads anywhere breaks every link in mails and payloads.',
  },
  'three permissions': {
    ghost:
      'Collaborators have `pull`, `push` or `admin` (or `read`, `write`); `triage` and `maintain` are a 422.',
    github: 'Five, and roles that an organisation makes.',
    why: 'Nothing here would tell them apart.',
  },
  'lists by creation': {
    ghost: 'Lists are sorted by `created` alone, and `per_page` over 100 is a 422.',
    github: 'Other orders, and 100 instead.',
    why: 'A list is walked by its key; less than was asked for must not seem to be all.',
  },
  'scopes alone': {
    ghost: 'A token without the scope `repo` reads no repository, public ones neither: 403.',
    github: 'Any token reads what is public.',
    why: 'What a token is for is said by its scopes alone.',
  },
} as const satisfies Record<string, BehaviourDifference>;
export type BehaviourName = keyof typeof BEHAVIOUR_DIFFERENCES;

export function explains(difference: ShapeDifference, finding: Finding): boolean {
  const { route, status, what } = difference;
  return (
    what === finding.what &&
    (route === '*' || route === finding.route) &&
    (status === undefined || status === finding.status)
  );
}
