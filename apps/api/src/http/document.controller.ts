import type { Settings } from '@ghost/settings';
import { Controller, Header, Inject, Injectable, Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import * as z from 'zod';

import { SETTINGS } from '../database/tokens.js';
import { OPENAPI_PATH, openApiDocument, openApiText } from './openapi.js';
import { Route } from './route.js';

const openApiAnswer = z.looseObject({ openapi: z.string(), paths: z.looseObject({}) });

/** Holds the text of the OpenAPI document, made when somebody asks first: 30 ms that no start needs. */
@Injectable()
export class ApiDocument {
  private app: NestFastifyApplication | undefined;
  private made: string | undefined;

  constructor(@Inject(SETTINGS) private readonly settings: Pick<Settings, 'publicUrl'>) {}

  /** The composition root gives the application, which no provider can ask for. */
  describes(app: NestFastifyApplication): void {
    this.app = app;
  }

  get text(): string {
    if (this.app === undefined) throw new Error('No application was given to describe');
    this.made ??= openApiText(openApiDocument(this.app, this.settings.publicUrl));
    return this.made;
  }
}

@Controller()
export class DocumentController {
  constructor(@Inject(ApiDocument) private readonly document: ApiDocument) {}

  @Route({
    method: 'GET',
    path: OPENAPI_PATH,
    access: { for: 'public' },
    id: 'get-openapi-document',
    summary: 'This document.',
    status: 200,
    answer: openApiAnswer,
  })
  @Header('content-type', 'application/json; charset=utf-8')
  show(): string {
    return this.document.text;
  }
}

@Module({ controllers: [DocumentController], providers: [ApiDocument] })
export class DocumentModule {}
