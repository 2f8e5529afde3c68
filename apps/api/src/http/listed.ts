import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '@ghost/settings';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { map, type Observable } from 'rxjs';

import { SETTINGS } from '../database/tokens.js';
import { MAX_PAGE_BYTES } from './page-bytes.js';
import { cursorParameter, encodeCursor, type ListKind } from './page.js';

type Next = { kind: ListKind; after: number | string } | null;

/** What in a query says which page it is. */
const PLACES = ['page', 'after', 'cursor'] as const;

/** A page of a list as a route returns it: the answer is `items`, and `Link` leads to what follows. */
export class Listed<T> {
  readonly items: readonly T[];
  /** The items' JSON, which is written once: it is measured and sent. */
  readonly text: string;
  readonly next: Next;

  private constructor(items: readonly T[], text: string, next: Next) {
    this.items = items;
    this.text = text;
    this.next = next;
  }

  /**
   * From rows of which one more was read than the page holds: that there is one says that more follows. A
   * page ends early when its JSON would be longer than {@link MAX_PAGE_BYTES}, which no list of names is.
   * @param key - what the list is ordered by
   */
  static from<R, T>(
    rows: readonly R[],
    perPage: number,
    kind: ListKind,
    key: (row: R) => number | string,
    view: (row: R) => T,
  ): Listed<T> {
    const items: T[] = [];
    const texts: string[] = [];
    let bytes = 0;
    for (const row of rows.slice(0, perPage)) {
      const item = view(row);
      const text = JSON.stringify(item);
      bytes += Buffer.byteLength(text);
      if (bytes > MAX_PAGE_BYTES && items.length > 0) break;
      items.push(item);
      texts.push(text);
    }
    const last = rows[items.length - 1];
    const more = rows.length > items.length && last !== undefined;
    return new Listed(items, `[${texts.join(',')}]`, more ? { kind, after: key(last) } : null);
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
        const asked = new URL(http.getRequest<FastifyRequest>().url, this.settings.publicUrl);
        const link = (rel: string, next: Next) => {
          const query = new URLSearchParams(asked.search);
          for (const place of PLACES) query.delete(place);
          if (next !== null) {
            query.set(cursorParameter(next.kind), encodeCursor(next.kind, next.after));
          }
          const text = query.toString();
          return `<${this.settings.publicUrl}${asked.pathname}${text === '' ? '' : `?${text}`}>; rel="${rel}"`;
        };
        const links: string[] = [];
        if (value.next !== null) links.push(link('next', value.next));
        if (asked.searchParams.has('after') || asked.searchParams.has('cursor')) {
          links.push(link('first', null));
        }
        if (links.length > 0) reply.header('link', links.join(', '));
        reply.header('content-type', 'application/json; charset=utf-8');
        return value.text;
      }),
    );
  }
}
