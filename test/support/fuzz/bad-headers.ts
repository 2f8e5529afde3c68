import type { BadRequest } from './bad-request.js';
import type { FuzzOperation, FuzzWorld, Json } from './fuzz-world.js';
import { validBody, withBody } from './good-body.js';

const NO_TAGS = ['x', '"unclosed', 'W/', '"a" "b"', '"a",x', ''];
const OTHER_TAGS = ['"nope"', 'W/"nope"', '"a", "b"'];
const NO_TOKENS = ['Bearer x', 'Bearer', 'Basic eDp4', '', `Bearer ${'x'.repeat(4000)}`];

/** Bad entity tags where they are heeded, and bad tokens where one counts. */
export function badHeaders(world: FuzzWorld, at: FuzzOperation): BadRequest[] {
  const { method, template, operation } = at;
  const path = world.pathOf(template);
  const body = validBody(at);
  const bad = (
    name: string,
    headers: Record<string, string>,
    status: number,
    code: string,
  ): BadRequest => ({
    name,
    request: { method, path, headers, ...withBody(body) },
    status: [status],
    code,
  });
  const badTags = (tags: readonly string[], status: number, code: string) =>
    tags.map((tag) => bad(`If-Match: ${tag}`, { 'if-match': tag }, status, code));
  const parameters: Json[] = operation.parameters ?? [];
  const heedsTags = parameters.some((parameter) => String(parameter.$ref).endsWith('/IfMatch'));
  const looksAtTokens = (operation.security ?? []).length > 0;
  return [
    ...(heedsTags ? badTags(NO_TAGS, 400, 'bad_if_match') : []),
    ...(heedsTags ? badTags(OTHER_TAGS, 412, 'precondition_failed') : []),
    ...(looksAtTokens ? NO_TOKENS : []).map((authorization) =>
      bad(
        `Authorization: ${authorization.slice(0, 20)}`,
        { authorization },
        401,
        'bad_credentials',
      ),
    ),
  ];
}
