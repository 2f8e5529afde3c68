import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { unsafeTags } from '../../../../../test/support/html-check.js';
import { renderMarkdown } from './render-markdown.js';

const PAGE = 'https://ghost.example/ada/demo/threads/1';
const MOST_BYTES = 40 * 1024;

const render = (source: string) => renderMarkdown(source, PAGE).html.trim();

describe('Markdown in a mail', () => {
  test.each([
    ['Hi **you**,\nline', '<p>Hi <strong>you</strong>,<br />\nline</p>'],
    ['~~old~~ `x < y`', '<p><s>old</s> <code>x &lt; y</code></p>'],
    ['# Title\n> said', '<h1>Title</h1>\n<blockquote>\n<p>said</p>\n</blockquote>'],
    ['a < b && c', '<p>a &lt; b &amp;&amp; c</p>'],
    [
      '<details><summary>S</summary>\n\ntext\n',
      '<details><summary>S</summary>\n<p>text</p>\n</details>',
    ],
    ['3. three', '<ol start="3">\n<li>three</li>\n</ol>'],
  ])('keeps how a text is meant: %j', (source, html) => {
    expect(render(source)).toBe(html);
  });

  test('has GitHub’s tables, with their alignment', () => {
    const table = render('|a|b|\n|:-|-:|\n|1|2|');
    expect(table).toContain('<th align="left">a</th>');
    expect(table).toContain('<td align="right">2</td>');
  });

  test.each([
    ['[r](../x?y#z)', 'https://ghost.example/ada/demo/x?y#z'],
    ['[r](/c)', 'https://ghost.example/c'],
    ['[r](#part)', `${PAGE}#part`],
    ['<a href="other">r</a>', 'https://ghost.example/ada/demo/threads/other'],
    ['<a href="//other.example/x">r</a>', 'https://other.example/x'],
    ['http://x.example/?a=1&b=2', 'http://x.example/?a=1&amp;b=2'],
    ['[r](mailto:ada@people.example)', 'mailto:ada@people.example'],
  ])('makes links absolute: %s', (source, href) => {
    expect(render(source)).toContain(`<a href="${href}">`);
  });

  test('loads nothing: an image is a link to it, or its text', () => {
    expect(render('![a "cat"](cat.png)')).toBe(
      '<p><a href="https://ghost.example/ada/demo/threads/cat.png">[image: a "cat"]</a></p>',
    );
    expect(render('[![a](b.png)](/c)')).toBe(
      '<p><a href="https://ghost.example/c">[image: a]</a></p>',
    );
    expect(render('<img src="https://t.example/1.gif" alt="<b>">')).toBe(
      '<span>[image: &lt;b&gt;]</span>',
    );
    expect(render('![](x.png)')).toContain('[image: no text]');
  });
});

const HOSTILE = [
  '<script>alert(1)</script>',
  '<scr<script>ipt>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<a href="javascript:alert(1)">x</a>',
  '<a href="&#106;avascript:alert(1)">x</a>',
  '<a href="java\nscript:alert(1)">x</a>',
  '<a href=" \u0001javascript:alert(1)">x</a>',
  '<a href="data:text/html,<script>alert(1)</script>">x</a>',
  '<a href="vbscript:x">x</a>',
  '[x](javascript:alert(1))',
  '[x](<javascript:alert(1)>)',
  '<javascript:alert(1)>',
  '[x][r]\n\n[r]: data:text/html;base64,eA==',
  '![x](javascript:alert(1))',
  '<form action="https://evil.example"><input name=p><button formaction=x>go</button></form>',
  '<style>*{display:none}</style>',
  '<p style="background:url(https://t.example/1)">x</p>',
  '<div style="position:fixed">x</div>',
  '<base href="https://evil.example/">',
  '<meta http-equiv="refresh" content="0;url=https://evil.example">',
  '<link rel="stylesheet" href="https://evil.example/x.css">',
  '<svg onload=alert(1)><script>alert(1)</script><a xlink:href="javascript:alert(1)">x</a></svg>',
  '<math><mi xlink:href="data:x,<script>alert(1)</script>"></mi></math>',
  '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  '<object data="x"></object><embed src="x">',
  '<video src="x" poster="y"><source src="z"></video><audio src="x">',
  '<td background="https://t.example/1">x</td>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '<template><img src=x onerror=alert(1)></template>',
  '<xmp><img src=x onerror=alert(1)></xmp>',
  '<textarea><img src=x onerror=alert(1)></textarea>',
  '<title><img src=x onerror=alert(1)></title>',
  '<!--><img src=x onerror=alert(1)>-->',
  '<![CDATA[<img src=x onerror=alert(1)>]]>',
  '<?xml version="1.0"?><img src=x onerror=alert(1)>',
  '</div></body></html><script>alert(1)</script>',
  '<a href="x" onclick="alert(1)" style="x" class="y" id="z" name="w" target="_blank" ping="https://t.example">x</a>',
  '<p id="foot" class="foot">x</p>',
  '<li><div><li></li></div></li></div><div class="foot">x',
  '<dd><div><dt></dt></div></dd></div></body>',
  '<table><tr><td><div><td></td></div></div></td></tr></table></div>',
  '<h1><div><h2></h2></div></h1></div>',
  'a\0b<scr\0ipt>alert(1)</scr\0ipt>',
];

function expectSafe(html: string): void {
  expect(unsafeTags(html)).toEqual([]);
  expect(Buffer.byteLength(html)).toBeLessThanOrEqual(MOST_BYTES);
}

/** Each tag that opens closes, in order. */
function expectBalanced(html: string): void {
  const open: string[] = [];
  for (const [, close, name = ''] of html.matchAll(/<(\/?)([a-z0-9]+)[^>]*>/gu)) {
    if (name === 'br' || name === 'hr') continue;
    if (close) expect(open.pop()).toBe(name);
    else open.push(name);
  }
  expect(open).toEqual([]);
}

describe('hostile Markdown', () => {
  test.each(HOSTILE)('is only text and links: %s', (source) => {
    for (const around of [source, `a ${source} b`, `- ${source}\n\n> ${source}`]) {
      const html = render(around);
      expectSafe(html);
      expectBalanced(html);
      expect(html).not.toMatch(/onerror|onload|onclick|srcdoc/u);
    }
  });

  test('of any mixture stays so', () => {
    const piece = fc.oneof(
      fc.constantFrom(...HOSTILE, '<', '>', '"', "'", '`', '```\n', '|', '\n', '\n\n', '> ', '- '),
      fc.constantFrom('<div>', '</p>', '<table>', '<td>', '<a href="x">', '<pre>', '[x](', '](y)'),
      fc.string({ maxLength: 8, unit: 'binary' }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const html = render(pieces.join(''));
        expectSafe(html);
        expectBalanced(html);
      }),
      { numRuns: 300 },
    );
  });

  test('of any size is bounded, and says that it was cut', () => {
    const rows = '|\n'.repeat(100_000);
    const long = [
      `|a|b|c|\n|-|-|-|\n${'|1|2|3|\n'.repeat(125_000)}`,
      `|${'a|'.repeat(2_000)}\n|${'-|'.repeat(2_000)}\n${rows}`,
      `|${'a|'.repeat(60)}\n|${'-|'.repeat(60)}\n${rows}`,
      '['.repeat(65_536),
      '*a_ '.repeat(16_384),
      '![]() '.repeat(10_000),
      '&"<\''.repeat(16_384),
      '<div>'.repeat(13_000),
      '字'.repeat(65_536),
      'a'.repeat(1_000_000),
      '[a]: /b\n'.repeat(9_000),
    ];
    for (const source of long) {
      const rendered = renderMarkdown(source, PAGE);
      expect(rendered.cut).toBe(true);
      expectSafe(rendered.html);
      expectBalanced(rendered.html);
    }
    const quotes = renderMarkdown(`${'>'.repeat(1_000)} hi`, PAGE);
    expect(quotes.cut).toBe(false);
    expect(quotes.html).toContain('hi');
  });

  test('costs no more than it shows: signs are bounded, and rows of a table that have none are cells', () => {
    const signs = renderMarkdown('['.repeat(10_000), PAGE);
    expect(signs).toEqual({ html: `<p>${'['.repeat(3_072)}</p>\n`, cut: true });
    const rows = (count: number) => renderMarkdown(`a|\n-|\n${'a\n'.repeat(count)}`, PAGE).html;
    expect(rows(500)).toContain('<td>a</td>');
    expect(rows(1_500)).not.toContain('<table>');
    expect(rows(1_500)).toContain('a<br />');
  });
});
