import { Agent, request } from 'node:http';
import type { Pool } from '@ghost/db';

import { type AnswerCheck, answerCheck, type ApiDocumentation } from '../answer-check.js';
import { addDelivery } from '../hook-delivery.js';

// Requests are made from the document and answers read as they come; a wrong look fails by itself.
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

/** An API that runs, with an empty database, and a way to make accounts. */
export interface FuzzTarget {
  readonly url: string;
  /** Of its database. */
  readonly pool: Pool;
  addPerson(login: string): Promise<{ token: string }>;
}

export interface FuzzOperation {
  readonly method: string;
  readonly template: string;
  readonly operation: Json;
  /** The schema of its JSON body. */
  readonly body: Json;
}

export interface FuzzRequest {
  readonly method: string;
  /** With the query, encoded. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface FuzzAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const PARAMETER = /\{(\w+)\}/gu;
const ANSWER_WITHIN_MS = 20_000;
const HOUR_MS = 3_600_000;
const OTHERS = ['bob', 'cleo', 'dan', 'eve', 'finn', 'gus'];

/** An API with something behind every kind of path, so that what is asked gets past the guard. */
export class FuzzWorld {
  readonly document: ApiDocumentation;
  readonly operations: readonly FuzzOperation[];
  private readonly url: string;
  private readonly pool: Pool;
  private readonly token: string;
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 8 });
  private readonly check: AnswerCheck;
  private ids = { hook: 0, delivery: 0, replay: 0, event: '', comment: 0, token: 0 };

  private constructor(
    { url, pool }: Pick<FuzzTarget, 'url' | 'pool'>,
    token: string,
    document: ApiDocumentation,
  ) {
    this.url = url;
    this.pool = pool;
    this.token = token;
    this.document = document;
    this.check = answerCheck(document);
    this.operations = Object.entries(document.paths).flatMap(([template, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        method: method.toUpperCase(),
        template,
        operation,
        body: bodyOf(document, operation),
      })),
    );
  }

  static async over(target: FuzzTarget): Promise<FuzzWorld> {
    // Ids that requests guess must not be those of the owner's own token.
    const { url } = target;
    for (const login of OTHERS) await target.addPerson(login);
    const { token } = await target.addPerson('ada');
    const response = await fetch(`${url}/api/openapi.json`);
    const world = new FuzzWorld(target, token, (await response.json()) as ApiDocumentation);
    await world.restore();
    return world;
  }

  stop(): void {
    this.agent.destroy();
  }

  /** Makes again what a request may have taken away. */
  async restore(): Promise<void> {
    if ((await this.ask('GET', '/repos/ada/engine')).status === 404) {
      await this.ask('POST', '/user/repos', { name: 'engine', private: false });
    }
    if ((await this.ask('GET', '/repos/ada/engine/threads/1')).status === 404) {
      await this.ask('POST', '/repos/ada/engine/threads', { title: 'A thread' });
    }
    await this.ask('PUT', '/repos/ada/engine/collaborators/bob');
    const hooks = await this.ask('GET', '/repos/ada/engine/hooks');
    const hook =
      hooks.body[0] ??
      (
        await this.ask('POST', '/repos/ada/engine/hooks', {
          config: { url: 'https://hooks.example/x' },
        })
      ).body;
    const delivery = await this.deliveryOf(hook.id);
    const attempt = await this.ask(
      'GET',
      `/repos/ada/engine/hooks/${hook.id}/deliveries/${delivery}`,
    );
    const event = attempt.body.explanation.event_id;
    const replay = await this.replayOf(hook.id);
    const thread = '/repos/ada/engine/threads/1/comments';
    const comments = await this.ask('GET', thread);
    const comment =
      comments.body[0] ?? (await this.ask('POST', thread, { body: 'A comment' })).body;
    const tokens = await this.ask('GET', '/user/tokens?per_page=100');
    const spare = tokens.body.find((token: Json) => token.label === 'spare');
    const token =
      spare ?? (await this.ask('POST', '/user/tokens', { label: 'spare', scopes: ['repo'] })).body;
    this.ids = { hook: hook.id, delivery, event, replay, comment: comment.id, token: token.id };
  }

  private async replayOf(hookId: number): Promise<number> {
    const replays = `/repos/ada/engine/hooks/${hookId}/replays`;
    const { body } = await this.ask('GET', replays);
    if (body.length > 0) return body[0].id;
    const since = new Date(Date.now() - HOUR_MS).toISOString();
    return (await this.ask('POST', replays, { since })).body.id;
  }

  /** An attempt of a hook: no worker runs that would make one. */
  private async deliveryOf(hookId: number): Promise<number> {
    const { body } = await this.ask('GET', `/repos/ada/engine/hooks/${hookId}/deliveries`);
    if (body.length > 0) return body[0].id;
    const repository = await this.ask('GET', '/repos/ada/engine');
    const hook = { id: hookId, repositoryId: repository.body.id };
    return (await addDelivery(this.pool, hook)).attemptId;
  }

  /** A value of a path's parameter that leads to something. */
  valueOf(template: string, name: string): string {
    switch (name) {
      case 'owner':
        return 'ada';
      case 'repo':
        return 'engine';
      case 'username':
        return 'bob';
      case 'number':
        return '1';
      case 'token':
        return 'no-such-link';
      case 'delivery_id':
        return String(this.ids.delivery);
      case 'replay_id':
        return String(this.ids.replay);
      case 'event_id':
        return this.ids.event;
      case 'id':
        if (template.includes('/hooks/')) return String(this.ids.hook);
        return String(template.includes('/comments/') ? this.ids.comment : this.ids.token);
      default:
        throw new Error(`The world has nothing for {${name}} of ${template}.`);
    }
  }

  /** The path of a template, with some of its parameters replaced by what is given. */
  pathOf(template: string, given: Readonly<Record<string, string>> = {}): string {
    return template.replace(
      PARAMETER,
      (_all, name: string) => given[name] ?? this.valueOf(template, name),
    );
  }

  /** Sends as the owner, and fails when the answer is not what the document declares. */
  async send(asked: FuzzRequest): Promise<FuzzAnswer> {
    const answer = await this.exchange(asked);
    if (answer.status >= 500) {
      throw new Error(`${shown(asked)} answered ${answer.status}: ${answer.text}`);
    }
    try {
      this.check(asked.method, asked.path, answer);
    } catch (cause) {
      throw new Error(`${shown(asked)}: ${String(cause)}`, { cause });
    }
    const changed = answer.status < 300 && (asked.method === 'DELETE' || asked.method === 'PATCH');
    if (changed) await this.restore();
    return answer;
  }

  private async ask(method: string, path: string, body?: unknown) {
    const { status, text } = await this.exchange({
      method,
      path: `/api${path}`,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const parsed: Json = text === '' ? undefined : JSON.parse(text);
    return { status, body: parsed };
  }

  private exchange({ method, path, headers, body }: FuzzRequest): Promise<FuzzAnswer> {
    return new Promise((resolve, reject) => {
      const sent = request(`${this.url}${path}`, {
        method,
        agent: this.agent,
        timeout: ANSWER_WITHIN_MS,
        headers: {
          authorization: `Bearer ${this.token}`,
          ...(body === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
          ...headers,
        },
      });
      sent.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const given = Object.entries(response.headers).map(
            ([name, value]) => [name, String(value)] as [string, string],
          );
          resolve({
            status: response.statusCode ?? 0,
            headers: new Headers(given),
            text: Buffer.concat(chunks).toString('utf8'),
          });
        });
      });
      sent.on('timeout', () => sent.destroy(new Error(`No answer to ${method} ${path}`)));
      sent.on('error', (error) =>
        reject(new Error(`${method} ${path}: ${error.message}`, { cause: error })),
      );
      sent.end(body);
    });
  }
}

/** The names of a path's parameters. */
export function parametersOf(template: string): string[] {
  return [...template.matchAll(PARAMETER)].map(([, name = '']) => name);
}

/** The parameters that an operation takes in its query. */
export function queryOf({ operation }: FuzzOperation): Json[] {
  return (operation.parameters ?? []).filter((parameter: Json) => parameter.in === 'query');
}

function bodyOf(document: Json, operation: Json): Json {
  const schema = operation.requestBody?.content?.['application/json']?.schema;
  const shared = /^#\/components\/schemas\/(\w+)$/u.exec(schema?.$ref ?? '')?.[1];
  return shared === undefined ? schema : document.components.schemas[shared];
}

const MAX_SHOWN_CHARS = 500;

function shown({ method, path, headers, body }: FuzzRequest): string {
  const text = JSON.stringify({ method, path, headers, body: body?.toString('utf8') });
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text;
}
