import { type Database, schema } from '@ghost/db';
import { Inject, Injectable } from '@nestjs/common';
import { eq } from 'drizzle-orm';

import { DATABASE } from '../../database/tokens.js';
import type { MailChoiceAnswer, MailChoiceEdit } from './mail-choice-schemas.js';

/** Of who never chose. */
const BY_DEFAULT: MailChoiceAnswer = { watching: true, participating: true, own_actions: false };

@Injectable()
export class MailChoicesService {
  constructor(@Inject(DATABASE) private readonly db: Database) {}

  async find(accountId: number): Promise<MailChoiceAnswer> {
    const { mailChoice } = schema;
    const [chosen] = await this.db
      .select(COLUMNS)
      .from(mailChoice)
      .where(eq(mailChoice.accountId, accountId));
    return chosen ?? BY_DEFAULT;
  }

  /** What is left out stays; it counts for events that are fanned out from now on. */
  async edit(accountId: number, edit: MailChoiceEdit): Promise<MailChoiceAnswer> {
    const { mailChoice } = schema;
    const chosen = {
      ...(edit.watching === undefined ? {} : { watching: edit.watching }),
      ...(edit.participating === undefined ? {} : { participating: edit.participating }),
      ...(edit.own_actions === undefined ? {} : { ownActions: edit.own_actions }),
    };
    const [now] = await this.db
      .insert(mailChoice)
      .values({ accountId, ...chosen })
      .onConflictDoUpdate({
        target: mailChoice.accountId,
        set: { ...chosen, updatedAt: new Date() },
      })
      .returning(COLUMNS);
    if (now === undefined) throw new Error('The write of a mail choice returned no row');
    return now;
  }
}

const COLUMNS = {
  watching: schema.mailChoice.watching,
  participating: schema.mailChoice.participating,
  own_actions: schema.mailChoice.ownActions,
};
