import { MAX_COMMENT_CHARACTERS } from '@ghost/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { MAX_MENTIONS, mentionsOf } from './mentions-of.js';

/** Linear ones take some 20 ms; what looks twice at each pair of characters takes minutes. */
const LONGEST_MS = 1000;

describe('a text mentions', () => {
  test.each([
    ['at the start', '@ada look', ['ada']],
    ['at the end', 'look, @ada', ['ada']],
    ['without case, once', '@Ada and @ADA and @ada', ['ada']],
    ['in the order of the text', '@cleo, @bob and @ada', ['cleo', 'bob', 'ada']],
    ['with punctuation around', '(@ada), "@bob"; *@cleo*!', ['ada', 'bob', 'cleo']],
    ['with dots after', 'Ask @ada. Or @bob... Or @cleo.', ['ada', 'bob', 'cleo']],
    ['with digits and dashes', '@ada-l-2 @0x', ['ada-l-2', '0x']],
    ['of the longest form', `@${'a'.repeat(39)}`, ['a'.repeat(39)]],
    ['not of a longer one', `@${'a'.repeat(40)}`, []],
    ['not with a dash first', '@-ada', []],
    ['not in an address', 'write to ada@bob.example', []],
    ['not in a word', 'a@ada 1@ada _@ada é@ada 漢@ada', []],
    ['not before more of a word', '@ada_x @adaé @ada漢', []],
    ['not of a team or package', '@ada/team @ada.js', []],
    ['after an emoji', '👋@ada', ['ada']],
    ['not in a URL', 'https://x.example/@ada http://x.example/?q=@bob and @cleo', ['cleo']],
    [
      'not in a URL without a scheme',
      'www.x.example/@ada and (www.x.example/@bob) @cleo',
      ['cleo'],
    ],
    ['not in a URL in angle brackets', '<irc://x.example/@ada> @bob', ['bob']],
    ['after a word that only looks like a URL', 'xhttp://@ada', ['ada']],
    ['after another that does', 'awww.@ada', ['ada']],
    ['after a second @', '@@ada', ['ada']],
    ['in a link’s text', '[@ada](x)', ['ada']],
    ['in lists, quotes and headings', '- @ada\n> @bob\n\n# @cleo', ['ada', 'bob', 'cleo']],
    ['after an escape, as it is shown', '\\@ada', ['ada']],
    ['nobody', 'a @ b @', []],
  ])('%s: %j', (_name, text, logins) => {
    expect(mentionsOf(text)).toEqual(logins);
  });

  test(`${MAX_MENTIONS} people at most, each counted once`, () => {
    const many = Array.from({ length: 80 }, (_, n) => `@Person-${n}`);
    const logins = many.map((name) => name.slice(1).toLowerCase());
    expect(mentionsOf([...many, ...many].join(' '))).toEqual(logins.slice(0, MAX_MENTIONS));
    expect(mentionsOf(many.join('\n\n'))).toEqual(logins.slice(0, MAX_MENTIONS));
    expect(mentionsOf(`${'@ada '.repeat(200)}@bob`)).toEqual(['ada', 'bob']);
  });
});

describe('code mentions nobody', () => {
  test.each([
    ['a span', 'a `@ada` @bob', ['bob']],
    ['a span of two backticks', '``a ` @ada`` @bob', ['bob']],
    ['a span over lines', '`a\n@ada\n` @bob', ['bob']],
    ['a run that nothing closes is no span', '``@ada` @bob', ['ada', 'bob']],
    ['a span does not leave its paragraph', '`a\n\n@ada `', ['ada']],
    ['an escaped backtick opens none', '\\`@ada`', ['ada']],
    ['an escaped backslash escapes none', '\\\\`@ada`', []],
    ['a backslash in a span escapes none', '`\\` @ada `x`', ['ada']],
    ['a fence', '```\n@ada\n```\n@bob', ['bob']],
    ['a fence with a language', '```java\n@Override\n```\n@bob', ['bob']],
    ['a fence of tildes', '~~~\n@ada\n```\n@bob\n~~~\n@cleo', ['cleo']],
    ['a fence that is closed by no shorter one', '````\n@ada\n```\n@bob\n````\n@cleo', ['cleo']],
    ['a fence that is not closed', 'a\n```\n@ada\n\n@bob', []],
    ['a fence in a paragraph', 'text\n```\n@ada\n```', []],
    ['backticks after which more come are no fence', '```a``` @ada', ['ada']],
    ['a fence in a quote', '> ```\n> @ada\n\n@bob', ['bob']],
    ['a fence in a list', '- ```\n  @ada\n  ```\n- @bob', ['bob']],
    ['a fence that its list ends', '- ```\n  @ada\n\n@bob', ['bob']],
    ['a fence with CRLF', '```\r\n@ada\r\n```\r\n@bob', ['bob']],
    ['indented code', 'a\n\n    @ada\n\n@bob', ['bob']],
    ['code indented by a tab', '\t@ada\n', []],
    ['an indented line of a paragraph is none', 'a\n      @ada', ['ada']],
    ['an indented paragraph of a list is none', '1.  a\n\n    @ada', ['ada']],
    ['indented code in a list', '- a\n\n      @ada', []],
    ['an HTML comment', 'a <!-- @ada --> @bob', ['bob']],
    ['an HTML comment over paragraphs', '<!-- a\n\n@ada\n--> @bob', ['bob']],
    ['what is no HTML comment, as nothing ends it', 'a <!-- @ada', ['ada']],
    ['indented code after a line across', '***\n    @ada\n\n- - -\n    @bob\n@cleo', ['cleo']],
    ['indented code after a line of dashes', 'a\n\n---\n    @ada', []],
    ['indented code after a heading', 'Title\n===\n    @ada', []],
    ['indented code after a lesser heading', 'Title\n-\n    @ada', []],
    ['indented code after a heading in a list', '- Title\n  ===\n      @ada', []],
    ['what only looks like a heading’s line', '- a\n===\n    @ada', ['ada']],
    ['what looks so in a quote', '> a\n===\n    @ada', ['ada']],
    ['an underline of nothing', '===\n    @ada', ['ada']],
    ['an item after a line across', '***\n- @ada', ['ada']],
    ['a line across after a quote', '> a\n---\n    @ada', []],
  ])('%s: %j', (_name, text, logins) => {
    expect(mentionsOf(text)).toEqual(logins);
  });
});

describe('HTML mentions nobody', () => {
  test.each([
    ['in an attribute', '<a href="@ada">@bob</a>', ['bob']],
    ['in attributes over lines', "<a\n title = '@ada'\n b c=@cleo>@bob", ['bob']],
    ['in an element for code', '<code>@ada</code> <CODE class="x">\n@cleo</Code > @bob', ['bob']],
    ['in an element for code that is not closed', 'a <code>@ada\n@bob\n\n@cleo', ['cleo']],
    ['in preformatted text', '<pre>@ada</pre> @bob', ['bob']],
    ['in preformatted text over paragraphs', '<pre>\n@ada\n\n@cleo</pre>\n@bob', ['bob']],
    ['in preformatted text of a paragraph', 'a\n<pre lang="x">\n\n@ada\n</pre>\n@bob', ['bob']],
    ['in preformatted text in a line', 'a <pre>@ada</pre> @bob', ['bob']],
    ['in a script', '<script>\n@ada\n</script>\n\n@bob', ['bob']],
    ['in preformatted text of a quote', '> <pre>\n> @ada\n\n@bob', ['bob']],
    ['unless it is no tag', 'a <b and @ada> <1 @bob> <"@cleo">', ['ada', 'bob', 'cleo']],
    ['unless it is no tag of preformatted text', '<prefix>@ada', ['ada']],
    ['unless it is in a code span', '`<pre>` @ada', ['ada']],
    [
      'unless its name is that of a property',
      '<constructor>@ada</constructor> <Constructor x>@bob',
      ['ada', 'bob'],
    ],
  ])('%s: %j', (_name, text, logins) => {
    expect(mentionsOf(text)).toEqual(logins);
  });
});

describe('any text', () => {
  const piece = fc.constantFrom(
    ...[
      '@',
      '@ada',
      '@Bob',
      '`',
      '``',
      '```',
      '~~~',
      '\n',
      '\n\n',
      '\r\n',
      '    ',
      '\t',
      '> ',
      '- ',
    ],
    ...[
      '1. ',
      '#',
      '\\',
      '<!--',
      '-->',
      'http://',
      'www.',
      '<pre>',
      '</pre>',
      '<code>',
      '<constructor>',
      '<a b="',
      '***',
      '===',
      '.',
      '/',
      '_',
      ' ',
      'x',
      '-',
      'é',
      '👋',
      '\ud83d',
    ],
  );
  const markdown = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));
  const texts = fc.oneof(markdown, fc.string({ unit: 'binary', maxLength: 200 }));

  test('gives logins that stand in it, in lower case, each once', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const found = mentionsOf(text);
        expect(new Set(found).size).toBe(found.length);
        expect(found.length).toBeLessThanOrEqual(MAX_MENTIONS);
        for (const login of found) {
          expect(login).toMatch(/^[a-z0-9][a-z0-9-]{0,38}$/u);
          expect(text.toLowerCase()).toContain(`@${login}`);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('mentions nobody once it is in a fence that it does not close', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const fence = '~'.repeat(70);
        expect(mentionsOf(`${fence}\n${text.replaceAll('~', '')}\n${fence}`)).toEqual([]);
        expect(mentionsOf(`${fence}\n${text.replaceAll('~', '')}\n${fence}\n@zoe`)).toEqual([
          'zoe',
        ]);
      }),
      { numRuns: 500 },
    );
  });

  test('mentions whoever a paragraph of its own after it names', () => {
    // Nothing that opens a block which a blank line does not end.
    const harmless = fc
      .array(fc.constantFrom('@ada', '`', '``', ' ', 'x', '.', '\\', '\n', '> ', '# '), {
        maxLength: 40,
      })
      .map((pieces) => pieces.join(''))
      .filter((text) => !/`{3}/u.test(text));
    fc.assert(
      fc.property(harmless, (text) => {
        expect(mentionsOf(`${text}\n\n@zoe`)).toContain('zoe');
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    '@',
    '@a',
    '@a ',
    '@a.',
    '`',
    '`@',
    '` `` ',
    '\\`',
    '```\n',
    '~~~ ',
    '> ',
    '>',
    '- ',
    '1. ',
    '\t',
    '- \n',
    '<!--',
    '<!-- @',
    '<a ',
    '<a b="',
    `<a b='<a b="`,
    '<a b=',
    '<a b ',
    '<code>',
    '<pre>\n',
    '<a:',
    '</a ',
    '***\n',
    '- - - x\n',
    '* ',
    '=',
    'a\n=\n',
    'www.',
    '<a\n ',
    '"<a b=\'',
    '-->',
    'http://',
    'h',
    '.',
    '@.',
    '\n',
    '    a\n',
    '# ',
  ])('of the greatest length, made of %j, takes no time', (unit) => {
    const text = unit
      .repeat(Math.ceil(MAX_COMMENT_CHARACTERS / unit.length))
      .slice(0, MAX_COMMENT_CHARACTERS - 2);
    const startedAt = performance.now();
    mentionsOf(`${text} @`);
    mentionsOf(`@ ${text}`);
    expect(performance.now() - startedAt).toBeLessThan(LONGEST_MS);
  });

  test('of backticks in runs of every length takes no time', () => {
    const runs = Array.from({ length: 350 }, (_, n) => '`'.repeat(n + 1)).join(' ');
    const startedAt = performance.now();
    mentionsOf(`${runs} @ada`);
    expect(performance.now() - startedAt).toBeLessThan(LONGEST_MS);
  });
});
