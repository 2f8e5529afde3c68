import { MAX_COMMENT_CHARACTERS } from '@ghost/contract';
import * as z from 'zod';

import { pageOf } from '../http/page.js';
import { personLine, personText, requiredPersonText } from '../http/person-text.js';
import { pathNumber, repositoryPath } from '../repositories/repository-path.js';
import { subscriptionChoice } from '../repositories/subscription-schemas.js';

const MAX_TITLE_CHARACTERS = 256;

// Options of GitHub's form that have no meaning here; a client that sends them is not in the wrong.
const ignored = z.unknown().optional();
const IGNORED_OF_THREADS = {
  assignee: ignored,
  assignees: ignored,
  labels: ignored,
  milestone: ignored,
  type: ignored,
};

const title = personLine(MAX_TITLE_CHARACTERS);
const body = personText(MAX_COMMENT_CHARACTERS);

export const newThread = z.strictObject({
  title,
  body: body.nullish().transform((text) => text ?? ''),
  ...IGNORED_OF_THREADS,
});
export type NewThread = z.infer<typeof newThread>;

/** What is left out stays as it is; a body of null is an empty one. */
export const threadChanges = z.strictObject({
  title: title.optional(),
  body: body
    .nullable()
    .transform((text) => text ?? '')
    .optional(),
  state: z.enum(['open', 'closed']).optional(),
  state_reason: ignored,
  ...IGNORED_OF_THREADS,
});
export type ThreadChanges = z.infer<typeof threadChanges>;

export const threadsPage = pageOf('threads').extend({
  state: z.enum(['open', 'closed', 'all']).default('open'),
  sort: z
    .literal('created', { error: 'Threads are listed in the order in which they were opened.' })
    .optional()
    .describe('Only "created"'),
  direction: z.enum(['asc', 'desc']).default('desc').describe('desc: the newest first'),
});
export type ThreadsPage = z.infer<typeof threadsPage>;

export const newComment = z.strictObject({ body: requiredPersonText(MAX_COMMENT_CHARACTERS) });
export type NewComment = z.infer<typeof newComment>;

export const threadPath = repositoryPath.extend({ number: pathNumber });
export type ThreadPath = z.infer<typeof threadPath>;

/** The id of a comment says which thread it is in; the repository must be that of the thread. */
export const commentPath = repositoryPath.extend({ id: pathNumber });
export type CommentPath = z.infer<typeof commentPath>;

export const newThreadSubscription = subscriptionChoice(
  'A thread is either subscribed to or ignored.',
);
export type NewThreadSubscription = z.infer<typeof newThreadSubscription>;
