import { readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import path from 'node:path';

import { REPOSITORY } from './ghost-processes.js';

/**
 * Whether an address is inside, by the facts of the fixture and Node's own arithmetic: a second opinion on what the
 * policy says by default.
 */
export function isInside(address: string): boolean {
  const version = isIP(address);
  if (version === 0 || address.includes('%')) return true;
  if (version === 4) return refused.check(address, 'ipv4');
  return !allowed.check(address, 'ipv6') || refused.check(address, 'ipv6') || isIsatap(address);
}

interface Ranges {
  ipv4Refuse: string[];
  ipv6Allow: string[];
  ipv6Refuse: string[];
}
const file = path.join(REPOSITORY, 'packages/policy/fixtures/address-ranges.json');
const ranges = JSON.parse(readFileSync(file, 'utf8')) as Ranges;
const refused = blockList([...ranges.ipv4Refuse, ...ranges.ipv6Refuse]);
const allowed = blockList(ranges.ipv6Allow);

function blockList(texts: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of texts) {
    const [address = '', prefix] = text.split('/');
    list.addSubnet(address, Number(prefix), address.includes(':') ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** RFC 5214 §6.1, read off the text as the URL standard writes it: the groups before the last two. */
function isIsatap(address: string): boolean {
  const [left = '', right] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':'));
  const [head, tail] = [groups(left), groups(right ?? '')];
  const zeros = right === undefined ? 0 : 8 - head.length - tail.length;
  const all = [...head, ...Array.from({ length: zeros }, () => '0'), ...tail];
  return all[5] === '5efe' && ['0', '100', '200', '300'].includes(all[4] ?? '');
}
