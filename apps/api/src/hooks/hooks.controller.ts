import type { Settings } from '@ghost/settings';
import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Inject,
  Param,
  Post,
  UseGuards,
} from '@nestjs/common';

import { type Account, CurrentAccount } from '../accounts/current-account.js';
import { TokenGuard } from '../accounts/token-guard.js';
import { SETTINGS } from '../database/tokens.js';
import { type RepositoryPath, repositoryPath } from '../repositories/repository-path.js';
import { type HookPath, hookPath, type NewHook, newHook } from './hook-schemas.js';
import { hookView } from './hook-view.js';
import { HooksService } from './hooks.service.js';

@Controller('repos/:owner/:repo/hooks')
@UseGuards(TokenGuard)
export class HooksController {
  constructor(
    @Inject(HooksService) private readonly hooks: HooksService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Post()
  @HttpCode(201)
  async create(
    @CurrentAccount() account: Account,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
    @Body({ schema: newHook }) wanted: NewHook,
  ) {
    const { access, hook, generatedSecret } = await this.hooks.create(account, path, wanted);
    return hookView(this.settings.publicUrl, access, hook, generatedSecret ?? undefined);
  }

  @Get()
  async list(
    @CurrentAccount() account: Account,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
  ) {
    const { access, hooks } = await this.hooks.list(account, path);
    return hooks.map((hook) => hookView(this.settings.publicUrl, access, hook));
  }

  @Get(':id')
  async show(@CurrentAccount() account: Account, @Param({ schema: hookPath }) path: HookPath) {
    const { access, hook } = await this.hooks.find(account, path);
    return hookView(this.settings.publicUrl, access, hook);
  }

  @Delete(':id')
  @HttpCode(204)
  async remove(
    @CurrentAccount() account: Account,
    @Param({ schema: hookPath }) path: HookPath,
  ): Promise<void> {
    await this.hooks.remove(account, path);
  }
}
