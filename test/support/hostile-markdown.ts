/** Comments are at most so long; some here are longer, as is what was stored before. */
const FULL = 65_536;
const MEGABYTE = 1_000_000;
/** What is read of a text at most: where parsing costs most. */
const READ = 16_384;

/** So many characters of a text, again and again. */
const full = (text: string, length = FULL) =>
  text.repeat(Math.ceil(length / text.length)).slice(0, length);
/** Each of them beside its copy, so that no two runs of signs are alike. */
const halves = (first: string, second: string) => full(first, READ / 2) + full(second, READ / 2);

/** Markdown and HTML that mean harm, by what they are. */
export const HOSTILE_MARKDOWN: Readonly<Record<string, string>> = {
  scripts: full(
    '<script>alert(1)</script><img src=x onerror=alert(1)> <b onclick=alert(1)>x</b>\n\n',
  ),
  'javascript: links': full(
    '[x](javascript:alert(1)) <a href="&#106;ava\nscript:alert(1)">y</a> <data:text/html,x>\n\n',
  ),
  forms: full('<form action="https://evil.example"><input name=p><button>go</button></form>\n\n'),
  styles: full('<style>*{display:none}</style><p style="background:url(//t.example/1)">x</p>\n\n'),
  base: full('<base href="https://evil.example/"><meta http-equiv=refresh content=0>\n\n'),
  SVG: full(
    '<svg onload=alert(1)><style><img src=x></style><a xlink:href="data:x">x</a></svg>\n\n',
  ),
  'what ends the place of the text': full(
    '<li><div><li></li></div></li></div></body><div class="foot">x\n\n',
  ),
  'a table of 1 MB': `|a|b|c|\n|-|-|-|\n${full('|1|2|3|\n', MEGABYTE)}`,
  'a table of 1 MB without cells': `|${'a|'.repeat(60)}\n|${'-|'.repeat(60)}\n${full('|\n', MEGABYTE)}`,
  '1,000 nested quotes': full(`${'>'.repeat(1_000)} hi\n`),
  // The ten that took longest before there was a bound for signs and for rows without one.
  'rows of a table without a sign': `a|\n-|\n${full('a\n', READ)}`,
  'images that begin, and quotes': halves('![', '>'),
  'images that begin, line after line': full('![\n', READ),
  'declarations that begin': full('<![', READ),
  'links that begin, and quotes': halves('[', '>'),
  'links and emphasis that begin': full('_[', READ),
  'quotes of lists': full('>- a\n- ', READ),
  'lists in lists': full('- a\n  - b\n', READ),
  addresses: full('a@b.c ', READ),
  'URLs without a scheme': full('//a.b ', READ),
  // What most bytes are sent for.
  'relative links between accents': full(`[a](b) ${'é'.repeat(15)} `),
  'signs that one encoding escapes': full('a='),
  'letters of two and three bytes': full('aé字 '),
  'signs that HTML escapes': full('a"&<> '),
  'one word': full('x', MEGABYTE),
  emoji: full('👩‍👩‍👧‍👦'),
};
