import { API_SCOPES } from '@ghost/db';
import * as z from 'zod';

import { instant } from '../../http/instant.js';
import { pageOf } from '../../http/page.js';
import { personLine } from '../../http/person-text.js';
import { pathNumber } from '../../repositories/repository-path.js';

const MAX_LABEL_CHARACTERS = 100;

const scope = z.enum(API_SCOPES, {
  error: `There is no such scope. Known are: ${API_SCOPES.join(', ')}.`,
});

export const newToken = z
  .strictObject({
    label: personLine(MAX_LABEL_CHARACTERS).describe('What it is for: one line'),
    scopes: z
      .array(scope)
      .min(1, 'A token needs a scope at least.')
      .max(API_SCOPES.length, { abort: true, error: 'A scope is named twice.' })
      .refine((list) => new Set(list).size === list.length, 'A scope is named twice.')
      .describe('What it may be used for; no more than the token that makes it'),
    expires_at: instant.nullish().describe('When it ends; without it, it does not end by itself'),
  })
  .meta({ id: 'NewToken' });
export type NewToken = z.infer<typeof newToken>;

export const tokenPath = z.object({ id: pathNumber });
export type TokenPath = z.infer<typeof tokenPath>;

export const tokenPage = pageOf('tokens');
export type TokenPage = z.infer<typeof tokenPage>;

const shown = {
  id: z.int(),
  label: z.string(),
  scopes: z.array(z.enum(API_SCOPES)),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
};

/** A token as it is listed: never the token itself. */
export const tokenAnswer = z.object(shown).meta({ id: 'Token' });
export type TokenAnswer = z.infer<typeof tokenAnswer>;

export const addedTokenAnswer = z
  .object({ ...shown, token: z.string().describe('Shown only now: only its hash is kept') })
  .meta({ id: 'AddedToken' });
export type AddedTokenAnswer = z.infer<typeof addedTokenAnswer>;
