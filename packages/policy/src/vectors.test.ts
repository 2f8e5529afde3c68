import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { DEFAULT_POLICY } from './address-policy.js';
import { IPV4_REFUSED, IPV6_ALLOWED, IPV6_REFUSED } from './address/address-ranges.js';
import { checkAddress, checkAnswers } from './address/check-address.js';
import { checkHeader } from './check-header.js';
import { checkUrl } from './url/check-url.js';
import { parseUrl } from './url/parse-url.js';

type Vector = { id: string; expect: 'allow' | 'refuse'; why?: string };

function fixture<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../fixtures/${name}.json`, import.meta.url), 'utf8'));
}

describe('address ranges', () => {
  const facts =
    fixture<Record<'ipv4Refuse' | 'ipv6Allow' | 'ipv6Refuse', string[]>>('address-ranges');

  test('the IPv4 table is the one of the fixture', () => {
    expect(IPV4_REFUSED.map(({ range }) => range.text).toSorted()).toEqual(
      facts.ipv4Refuse.toSorted(),
    );
  });

  test('the IPv6 rule is the one of the fixture', () => {
    expect([IPV6_ALLOWED.text]).toEqual(facts.ipv6Allow);
    // Teredo lies in 2001::/23 and is named apart for the log only.
    const named = IPV6_REFUSED.map(({ range }) => range.text).filter(
      (text) => text !== '2001::/32',
    );
    expect(named.toSorted()).toEqual(facts.ipv6Refuse.toSorted());
  });
});

describe('address vectors', () => {
  test.each(fixture<(Vector & { input: string })[]>('address-vectors'))(
    '$id $expect $input: $why',
    ({ input, expect: expected }) => {
      expect(checkAddress(input, DEFAULT_POLICY).allowed).toBe(expected === 'allow');
      expect(checkAnswers([input], DEFAULT_POLICY).allowed).toBe(expected === 'allow');
    },
  );
});

describe('URL vectors', () => {
  type UrlVector = Vector & { input: string; whatwgHost: string; normalise?: true };
  test.each(fixture<UrlVector[]>('url-vectors'))(
    '$id $expect $input: $why',
    ({ input, expect: expected, whatwgHost, normalise }) => {
      // The parser that dials is the one that the vector was written for.
      expect(parseUrl(input)?.hostname ?? 'INVALID').toBe(whatwgHost);
      const verdict = checkUrl(input, DEFAULT_POLICY);
      expect(verdict.ok).toBe(expected === 'allow');
      if (!verdict.ok) return;
      expect(verdict.host).toBe(whatwgHost.replace(/^\[|\]$/g, ''));
      expect(checkUrl(verdict.url, DEFAULT_POLICY)).toEqual(verdict);
      if (normalise) expect(verdict.url).not.toMatch(/[@#]/);
    },
  );
});

describe('DNS answer vectors', () => {
  // What a DNS server does instead of answering is played to delivery's sender.
  const vectors = fixture<(Vector & { answers?: string[] })[]>('dns-vectors');
  test.each(vectors.filter(({ answers }) => answers !== undefined))(
    '$id $expect $answers: $why',
    ({ answers = [], expect: expected }) => {
      const verdict = checkAnswers(answers, DEFAULT_POLICY, { host: 'example.com', port: 443 });
      expect(verdict.allowed).toBe(expected === 'allow');
    },
  );
});

describe('header vectors', () => {
  test.each(fixture<(Vector & { name: string; value: string })[]>('header-vectors'))(
    '$id $expect $name: $value',
    ({ name, value, expect: expected }) => {
      expect(checkHeader(name, value).ok).toBe(expected === 'allow');
    },
  );
});
