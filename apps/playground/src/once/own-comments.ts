/** A body to post and where it comes from. */
export interface DemoComment {
  source: string;
  body: string;
}

// Texts of our own, for what no installed package may have: each is something that broke a system like this.
export const OWN_COMMENTS: readonly DemoComment[] = [
  {
    source: 'emoji and joiners',
    body: '🎉 Shipped! 👩‍👩‍👧‍👦 👍🏽 🇳🇬🇯🇵 1️⃣ ❤️‍🔥 \n\nReviewed by the whole team: 👩🏿‍💻👨‍🔬🧑‍🚀. Next: 🐘 → ✉️.',
  },
  {
    source: 'Chinese and Japanese',
    body: [
      '## 复现步骤',
      '',
      '1. 打开设置页面,点击“保存”。',
      '2. 刷新页面,修改没有生效。',
      '',
      '日本語でも同じ問題が起きます。「保存」ボタンを押しても、半角カタカナ(ｱｲｳ)が文字化けします。㈱と①も確認してください。',
      '',
      '한국어도 마찬가지입니다.',
    ].join('\n'),
  },
  {
    source: 'a table and alignment',
    body: [
      '| phase | p50 | p99 | note |',
      '|:------|----:|----:|:----:|',
      '| claim | 4 ms | 32 ms | `SKIP LOCKED` |',
      '| send | 11 ms | 480 ms | *one* slow host |',
      '| settle | 3 ms | 9 ms | a \\| in a cell |',
    ].join('\n'),
  },
  {
    source: 'a code block',
    body: [
      'The second `await` is the culprit:',
      '',
      '```ts',
      'for await (const chunk of request) {',
      '\tsize += chunk.length; // a tab, and "quotes" & <angles>',
      '}',
      '```',
      '',
      '    indented code stays indented',
    ].join('\n'),
  },
  {
    source: 'what markup and mails trip over',
    body: [
      '</script><img src=x onerror=alert(1)> &amp; {{template}} ${shell} %s',
      '.',
      'From the start of a line; a lone dot above.',
      '\u2028line separator, \u202Eright to left\u202C, e\u0301 combining, \u00a0no-break',
      `a very long word: ${'a'.repeat(1200)}`,
    ].join('\n'),
  },
  {
    source: 'a quoted reply',
    body: '> On Monday, @brian wrote:\n>\n> > Does it retry?\n>\n> It does, see #1.\n\nIt did. :tada:\n\n- [x] mails\n- [x] webhooks\n- [ ] sleep',
  },
];
