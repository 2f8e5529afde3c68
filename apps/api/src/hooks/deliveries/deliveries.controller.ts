import { Controller, Inject, Param, Query } from '@nestjs/common';
import * as z from 'zod';

import { type Account, CurrentAccount } from '../../accounts/current-account.js';
import { Listed } from '../../http/listed.js';
import { Route } from '../../http/route.js';
import { type HookPath, hookPath } from '../hook-schemas.js';
import { DeliveriesService } from './deliveries.service.js';
import {
  type DeliveryPage,
  type DeliveryPath,
  deliveryPage,
  deliveryPath,
} from './delivery-schemas.js';
import {
  type DeliveryAnswer,
  type DeliveryItemAnswer,
  deliveryAnswer,
  deliveryItemAnswer,
  deliveryItemView,
  deliveryView,
} from './delivery-view.js';

@Controller('repos/:owner/:repo/hooks/:id/deliveries')
export class DeliveriesController {
  constructor(@Inject(DeliveriesService) private readonly deliveries: DeliveriesService) {}

  @Route({
    method: 'GET',
    access: { for: 'account', scope: 'hooks' },
    id: 'list-hook-deliveries',
    summary: 'The attempts to deliver to a hook, the newest first.',
    status: 200,
    answer: z.array(deliveryItemAnswer),
    paged: true,
    errors: [404, 422],
  })
  async list(
    @CurrentAccount() account: Account,
    @Param({ schema: hookPath }) path: HookPath,
    @Query({ schema: deliveryPage }) page: DeliveryPage,
  ): Promise<Listed<DeliveryItemAnswer>> {
    const found = await this.deliveries.list(account, path, page);
    return Listed.from(found, page.per_page, 'deliveries', ({ id }) => id, deliveryItemView);
  }

  @Route({
    method: 'GET',
    path: ':delivery_id',
    access: { for: 'account', scope: 'hooks' },
    id: 'get-hook-delivery',
    summary: 'An attempt: what was sent and answered, why it came to that, and what happens next.',
    status: 200,
    answer: deliveryAnswer,
    errors: [404],
  })
  async show(
    @CurrentAccount() account: Account,
    @Param({ schema: deliveryPath }) path: DeliveryPath,
  ): Promise<DeliveryAnswer> {
    const { attempt, next } = await this.deliveries.find(account, path);
    return deliveryView(attempt, next);
  }

  @Route({
    method: 'POST',
    path: ':delivery_id/attempts',
    access: { for: 'account', scope: 'hooks' },
    id: 'redeliver-hook-delivery',
    summary:
      'Send the delivery of an attempt again: the same id and bytes, however often it was asked for.',
    status: 202,
    answer: z.object({}),
    errors: [404, 409],
  })
  async redeliver(
    @CurrentAccount() account: Account,
    @Param({ schema: deliveryPath }) path: DeliveryPath,
  ): Promise<Record<string, never>> {
    await this.deliveries.redeliver(account, path);
    return {};
  }
}
