import { expect, test } from 'vitest';
import { cidrList } from './cidr-list.js';

test.each([
  ['10.0.0.0/8', ['10.0.0.0/8']],
  ['127.0.0.1', ['127.0.0.1']],
  [' 10.1.0.0/16 , 2001:db8::/32,::1', ['10.1.0.0/16', '2001:db8::/32', '::1']],
  ['::ffff:10.0.0.0/104', ['::ffff:10.0.0.0/104']],
])('%s is a list of ranges', (text, value) => {
  expect(cidrList(text)).toEqual({ ok: true, value });
});

test.each([
  '10.0.0.0/33',
  '::1/129',
  '0.0.0.0/0',
  '::/0',
  '10.0.0.0/',
  '10.0.0.0/08',
  '10.0.0/8',
  '10.0.0.0/8/8',
  'fe80::1%eth0',
  'proxy.internal',
  'loopback',
  '*',
  ',',
  '10.0.0.1,',
  '0x7f.1',
])('%s is a fault that tells the entry', (text) => {
  expect(cidrList(text)).toMatchObject({
    ok: false,
    problem: expect.stringMatching(/an entry \d/u),
  });
});
