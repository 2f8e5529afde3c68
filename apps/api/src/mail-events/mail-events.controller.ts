import type { Pool } from '@ghost/db';
import { applyMailReport, readMailReport, type ReportEffect } from '@ghost/operations';
import { sqlOfPool } from '@ghost/queue';
import type { Settings } from '@ghost/settings';
import { verifyWebhook, WebhookVerificationError } from '@ghost/signing';
import { Controller, Inject, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import * as z from 'zod';

import { LOGGER, POOL, SETTINGS } from '../database/tokens.js';
import { ApiError, badRequest, notFound } from '../http/api-error.js';
import { Route } from '../http/route.js';

const MAX_ADDRESS_CHARS = 320;

const query = z.strictObject({
  /** Whom the message came for, where the mail server knows. */
  recipient: z.string().max(MAX_ADDRESS_CHARS).optional(),
});

const effectAnswer = z
  .object({
    effect: z.enum(['suppressed', 'noted', 'ignored']),
    /** Of the mail that it is about; null where it is about none. */
    delivery: z.string().nullable(),
    /** `hard`: no more mail; `soft`: none for a week; `strike`: none after two on different days. */
    suppression: z.enum(['hard', 'soft', 'strike']).nullable(),
    /** Why, for programs. */
    reason: z.string(),
  })
  .meta({ id: 'MailEventEffect' });
type EffectAnswer = z.infer<typeof effectAnswer>;

/** Where a mail server hands over the bounces and complaints that come to the return paths of mails. */
@Controller('mail/events')
export class MailEventsController {
  constructor(
    @Inject(POOL) private readonly pool: Pool,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'keyRing' | 'mailEventsSecret'>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Route({
    method: 'POST',
    access: { for: 'public' },
    id: 'report-mail-event',
    summary:
      'Hand over a raw bounce (RFC 3464) or complaint (RFC 5965). Signed with GHOST_MAIL_EVENTS_SECRET, as Standard Webhooks are; counted only where it names a return path of ours.',
    status: 200,
    answer: effectAnswer,
    message: true,
    errors: [401, 404, 422],
  })
  async report(
    @Req() request: FastifyRequest,
    @Query({ schema: query }) { recipient }: z.infer<typeof query>,
  ): Promise<EffectAnswer> {
    const raw = this.verified(request);
    const report = await readMailReport(raw, this.settings.keyRing, { recipient });
    const effect = await applyMailReport(sqlOfPool(this.pool), report);
    this.logger.info({ event: 'mail.reported', ...effect });
    return effectView(effect);
  }

  /** @throws ApiError 404 where no secret is set, 401 for what it did not sign */
  private verified({ body, headers }: FastifyRequest): Buffer {
    const { mailEventsSecret: secret } = this.settings;
    if (secret === null) throw notFound();
    if (!Buffer.isBuffer(body)) throw badRequest('no_message', 'The body is empty.');
    try {
      verifyWebhook({ headers, body, secret, scheme: 'standard' });
      return body;
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      throw new ApiError({ status: 401, code: 'bad_signature', message: error.message });
    }
  }
}

function effectView(effect: ReportEffect): EffectAnswer {
  return {
    effect: effect.effect,
    delivery: effect.effect === 'ignored' ? null : effect.jobId,
    suppression: effect.effect === 'suppressed' ? effect.suppression : null,
    reason: effect.reason,
  };
}
