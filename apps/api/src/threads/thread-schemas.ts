import { MAX_COMMENT_CHARACTERS } from '@ghost/contract';
import * as z from 'zod';

import { personLine, personText, requiredPersonText } from '../http/person-text.js';
import { pathNumber, repositoryPath } from '../repositories/repository-path.js';

const MAX_TITLE_CHARACTERS = 256;

// Options of GitHub's form that have no meaning here; a client that sends them is not in the wrong.
const ignored = z.unknown().optional();

export const newThread = z.strictObject({
  title: personLine(MAX_TITLE_CHARACTERS),
  body: personText(MAX_COMMENT_CHARACTERS)
    .nullish()
    .transform((body) => body ?? ''),
  assignee: ignored,
  assignees: ignored,
  labels: ignored,
  milestone: ignored,
  type: ignored,
});
export type NewThread = z.infer<typeof newThread>;

export const newComment = z.strictObject({ body: requiredPersonText(MAX_COMMENT_CHARACTERS) });
export type NewComment = z.infer<typeof newComment>;

export const threadPath = repositoryPath.extend({ number: pathNumber });
export type ThreadPath = z.infer<typeof threadPath>;
