import * as z from 'zod';

/** GitHub's bound for a comment, counted in code points. */
export const MAX_COMMENT_CHARACTERS = 65_536;

export const THREAD_STATES = ['open', 'closed'] as const;

const id = z.number().int().positive();
const time = z.iso.datetime({ offset: true });

// Loose objects: a field that a newer producer adds is kept, never stripped.
const actor = z.looseObject({ id, login: z.string(), name: z.string() });
const repository = z.looseObject({
  id,
  owner: z.string(),
  name: z.string(),
  full_name: z.string(),
  private: z.boolean(),
  html_url: z.string(),
});
const thread = z.looseObject({
  id,
  number: id,
  title: z.string(),
  body: z.string(),
  state: z.enum(THREAD_STATES),
  html_url: z.string(),
  user: actor,
  /** Whom the text mentions and who may read it. */
  mentions: z.array(actor).optional(),
  created_at: time,
  updated_at: time.optional(),
  closed_at: time.nullish(),
});
const comment = z.looseObject({
  id,
  /** Within its thread, from 1. */
  number: id.optional(),
  body: z.string(),
  html_url: z.string(),
  user: actor,
  created_at: time,
  updated_at: time,
  /** Whom the text mentions and who may read it. */
  mentions: z.array(actor).optional(),
});
const hook = z.looseObject({
  id,
  url: z.string(),
  events: z.array(z.string()),
  active: z.boolean(),
});

/** What its owner is told of a hook that fails; written by delivery, which knows no links. */
const ofFailingHook = {
  repository: repository.partial({ html_url: true }),
  /** `url`: scheme, host and port alone, as a path may be secret. */
  hook,
  /** Of the newest fault: its code, one plain sentence, and the status that was answered. */
  reason: z.string(),
  message: z.string().nullable(),
  status: z.int().nullable(),
  /** The first fault since something was delivered. */
  failing_since: time,
};

const inRepository = { repository, sender: actor };
const inThread = { ...inRepository, thread };

/** Each event type with its payload at the current version; a changed shape is a new version. */
export const EVENT_SCHEMAS = {
  'thread.opened': z.looseObject(inThread),
  'thread.closed': z.looseObject(inThread),
  'thread.reopened': z.looseObject(inThread),
  'comment.created': z.looseObject({ ...inThread, comment }),
  'comment.edited': z.looseObject({ ...inThread, comment }),
  'comment.deleted': z.looseObject({ ...inThread, comment }),
  'member.added': z.looseObject({ ...inRepository, member: actor }),
  'member.removed': z.looseObject({ ...inRepository, member: actor }),
  ping: z.looseObject({ ...inRepository, zen: z.string(), hook_id: id, hook }),
  /** `disables_at`: when it is disabled at the earliest. */
  'hook.failing': z.looseObject({ ...ofFailingHook, disables_at: time }),
  /** `held`: why, as its lane has it: `disabled` after a long time of failures, or what one attempt told, as `gone`. */
  'hook.disabled': z.looseObject({ ...ofFailingHook, held: z.string(), disabled_at: time }),
  'address.added': z.looseObject({
    account: actor,
    /** Of the row: an address that was removed and added again is another. */
    address_id: id,
    address: z.string(),
    verification_url: z.string(),
    /** When the link stops working. */
    expires_at: time,
  }),
} as const;

export type EventType = keyof typeof EVENT_SCHEMAS;
export type EventPayload<T extends EventType = EventType> = z.infer<(typeof EVENT_SCHEMAS)[T]>;

export const EVENT_VERSION = 1;
export const EVENT_TYPES = Object.keys(EVENT_SCHEMAS) as EventType[];

/** What a hook may subscribe to: `ping` always reaches its own hook, and the rest are mails. */
export const HOOK_EVENT_TYPES = [
  'thread.opened',
  'thread.closed',
  'thread.reopened',
  'comment.created',
  'comment.edited',
  'comment.deleted',
  'member.added',
  'member.removed',
] as const satisfies readonly EventType[];
export type HookEventType = (typeof HOOK_EVENT_TYPES)[number];

/** Event types that become mails to the readers of a thread. */
export const MAIL_EVENT_TYPES = [
  'thread.opened',
  'thread.closed',
  'thread.reopened',
  'comment.created',
] as const satisfies readonly EventType[];
export type MailEventType = (typeof MAIL_EVENT_TYPES)[number];

export type NewEvent = {
  [T in EventType]: { type: T; repositoryId: number | null; payload: EventPayload<T> };
}[EventType];

/** The parts of fan-out; each has its own progress and error on every event. */
export const CONSUMERS = ['notifier', 'webhook-fanout'] as const;
export type Consumer = (typeof CONSUMERS)[number];

export function isMailEventType(type: string): type is MailEventType {
  return (MAIL_EVENT_TYPES as readonly string[]).includes(type);
}
