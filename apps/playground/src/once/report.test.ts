import { expect, test } from 'vitest';

import { createProgress } from '../progress.js';
import { formatReport } from './report.js';

const row = {
  event: 'comment 1',
  source: 'emoji',
  status: 'delivered',
  verified: 'both',
  ok: true,
};

test('the table names each event once and lines up', () => {
  const text = formatReport([
    { ...row, target: 'hook 1 (http://127.0.0.1:4000)', attempts: '2' },
    { ...row, target: 'brian <brian@example.test>', attempts: '1' },
    { ...row, event: 'comment 2', target: 'x'.repeat(80), attempts: '1' },
  ]);
  expect(text.split('\n')).toEqual([
    `event      text   to${' '.repeat(46)}  status     attempts  verified`,
    `comment 1  emoji  hook 1 (http://127.0.0.1:4000)${' '.repeat(18)}  delivered  2         both`,
    `                  brian <brian@example.test>${' '.repeat(22)}  delivered  1         both`,
    `comment 2  emoji  ${'x'.repeat(47)}…  delivered  1         both`,
  ]);
});

test('progress is one changing line on a terminal, and a line now and then elsewhere', () => {
  let written = '';
  const write = (text: string) => void (written += text);
  const onTerminal = createProgress({ isTTY: true, write });
  onTerminal.show('1 of 2');
  onTerminal.show('1 of 2');
  onTerminal.show('2 of 2');
  onTerminal.end();
  expect(written).toBe('\r\u001B[K1 of 2\r\u001B[K2 of 2\n');

  written = '';
  let now = 0;
  const elsewhere = createProgress({ write }, () => now);
  elsewhere.show('1 of 3');
  now = 1000;
  elsewhere.show('2 of 3');
  now = 6000;
  elsewhere.show('3 of 3');
  elsewhere.end();
  expect(written).toBe('1 of 3\n3 of 3\n');
});
