import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '@ghost/settings';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { map, type Observable } from 'rxjs';

import { SETTINGS } from '../database/tokens.js';
import { encodeCursor, type ListKind } from './page.js';

/** A page of a list as a route returns it: the answer is `items`, and `Link` leads to what follows. */
export class Listed<T> {
  readonly items: readonly T[];
  readonly next: { kind: ListKind; after: number } | null;

  constructor(items: readonly T[], next: { kind: ListKind; after: number } | null) {
    this.items = items;
    this.next = next;
  }

  /**
   * From rows of which one more was read than the page holds: that there is one says that more follows.
   * @param key - what the list is ordered by
   */
  static from<R, T>(
    rows: readonly R[],
    perPage: number,
    kind: ListKind,
    key: (row: R) => number,
    view: (row: R) => T,
  ): Listed<T> {
    const shown = rows.slice(0, perPage);
    const last = shown.at(-1);
    const more = rows.length > perPage && last !== undefined;
    return new Listed(shown.map(view), more ? { kind, after: key(last) } : null);
  }
}

/** Writes a {@link Listed} as its items and the `Link` header (RFC 8288) that Octokit's `paginate` follows. */
@Injectable()
export class ListedInterceptor implements NestInterceptor {
  constructor(@Inject(SETTINGS) private readonly settings: Pick<Settings, 'publicUrl'>) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    return next.handle().pipe(
      map((value: unknown) => {
        if (!(value instanceof Listed)) return value;
        const reply = http.getResponse<FastifyReply>();
        const url = new URL(this.settings.publicUrl);
        const asked = new URL(http.getRequest<FastifyRequest>().url, url);
        const link = (rel: string, after: string | null) => {
          const query = new URLSearchParams(asked.search);
          query.delete('page');
          query.delete('after');
          if (after !== null) query.set('after', after);
          const text = query.toString();
          return `<${this.settings.publicUrl}${asked.pathname}${text === '' ? '' : `?${text}`}>; rel="${rel}"`;
        };
        const links: string[] = [];
        if (value.next !== null) {
          links.push(link('next', encodeCursor(value.next.kind, value.next.after)));
        }
        if (asked.searchParams.has('after')) links.push(link('first', null));
        if (links.length > 0) reply.header('link', links.join(', '));
        return value.items;
      }),
    );
  }
}
