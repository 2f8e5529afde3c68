import { EVENT_SCHEMAS, HOOK_EVENT_TYPES, type HookEventType, THREAD_STATES } from './events.js';

/** What is compared: `login` without case, everything else as it is. */
export type FilterKind = 'number' | 'flag' | 'login' | 'state' | 'line' | 'text';

/**
 * The fields of payloads that a hook can filter on. A closed list: a test compares it with the schemas, so
 * that a new field is either here or left out on purpose.
 */
export const FILTER_FIELDS = {
  'sender.id': 'number',
  'sender.login': 'login',
  'repository.private': 'flag',
  'thread.id': 'number',
  'thread.number': 'number',
  'thread.title': 'line',
  'thread.body': 'text',
  'thread.state': 'state',
  'thread.user.id': 'number',
  'thread.user.login': 'login',
  'comment.id': 'number',
  'comment.number': 'number',
  'comment.body': 'text',
  'comment.user.id': 'number',
  'comment.user.login': 'login',
  'member.id': 'number',
  'member.login': 'login',
} as const satisfies Record<string, FilterKind>;
export type FilterField = keyof typeof FILTER_FIELDS;
export const FILTER_FIELD_NAMES = Object.keys(FILTER_FIELDS) as FilterField[];

export const FILTER_OPERATORS = ['is', 'is_not', 'starts_with', 'contains'] as const;
export type FilterOperator = (typeof FILTER_OPERATORS)[number];

/**
 * A text may have 65,536 characters, and a thousand looks for something inside of it would keep the API busy
 * for seconds; a title has 256.
 */
export const OPERATORS_OF: Readonly<Record<FilterKind, readonly FilterOperator[]>> = {
  number: ['is', 'is_not'],
  flag: ['is', 'is_not'],
  login: ['is', 'is_not'],
  state: ['is', 'is_not'],
  line: ['is', 'is_not', 'starts_with', 'contains'],
  text: ['is', 'is_not', 'starts_with'],
};

/** What a field of kind `state` can be. */
export const FILTER_STATES: readonly string[] = THREAD_STATES;

/** The event types whose payload holds a field. Objects of one name hold the same fields in all of them. */
export function eventsWithField(field: FilterField): HookEventType[] {
  const [object = ''] = field.split('.');
  return HOOK_EVENT_TYPES.filter((type) => Object.hasOwn(EVENT_SCHEMAS[type].shape, object));
}
