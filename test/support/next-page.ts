import type { Answer } from './test-api.js';

/** The path, as {@link Answer} was asked for, of the page that follows in its `Link` header; undefined on the last. */
export function nextPage({ headers }: Pick<Answer, 'headers'>): string | undefined {
  return /<https:\/\/ghost\.example\/api([^>]+)>; rel="next"/u.exec(headers.get('link') ?? '')?.[1];
}
