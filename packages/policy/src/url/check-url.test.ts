import { describe, expect, test } from 'vitest';
import { DEFAULT_POLICY, parseAddressPolicy, type RawAddressPolicy } from '../address-policy.js';
import { checkAddress } from '../address/check-address.js';
import { checkUrl } from './check-url.js';
import { GENERIC_REFUSAL } from '../generic-refusal.js';

function policyOf(raw: RawAddressPolicy) {
  const parsed = parseAddressPolicy(raw);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  return parsed.policy;
}

function reasonOf(input: string, raw: RawAddressPolicy = {}): string {
  const verdict = checkUrl(input, policyOf(raw));
  return verdict.ok ? 'ok' : verdict.reason;
}

describe('an accepted URL', () => {
  test('is normalised, without fragment, with host and port as they are dialed', () => {
    expect(checkUrl('HTTPS://Bücher.Example/a?b#c', DEFAULT_POLICY)).toEqual({
      ok: true,
      url: 'https://xn--bcher-kva.example/a?b',
      host: 'xn--bcher-kva.example',
      port: 443,
      secure: true,
      literal: false,
    });
    expect(checkUrl('http://[2600::1]:8080/', DEFAULT_POLICY)).toEqual({
      ok: true,
      url: 'http://[2600::1]:8080/',
      host: '2600::1',
      port: 8080,
      secure: false,
      literal: true,
    });
  });
});

describe('the form', () => {
  const label = 'a'.repeat(63);
  test.each([
    ['', 'url_empty'],
    [`https://example.com/${'a'.repeat(2048)}`, 'url_too_long'],
    [`https://example.com/${'é'.repeat(400)}`, 'url_too_long'],
    [`https://example.com/${'é'.repeat(300)}`, 'ok'],
    ['https://example.com/a b', 'url_hidden_characters'],
    ['https://exam\tple.com/', 'url_hidden_characters'],
    ['https://example.com/\u202e', 'url_hidden_characters'],
    ['https://example.com/\ud800', 'url_hidden_characters'],
    ['https://example.com\u0000/', 'url_hidden_characters'],
    ['example.com/hook', 'url_malformed'],
    ['https:example.com', 'url_malformed'],
    ['https:///example.com', 'url_malformed'],
    ['https://', 'url_malformed'],
    ['https://example.com:99999/', 'url_malformed'],
    ['https://[fe80::1%25eth0]/', 'url_malformed'],
    ['ftp://example.com/', 'url_scheme'],
    ['javascript:alert(1)', 'url_scheme'],
    ['https://user@example.com/', 'url_userinfo'],
    ['https://:secret@example.com/', 'url_userinfo'],
    ['https://example.com./', 'name_trailing_dot'],
    ['https://a..example.com/', 'name_empty_label'],
    [`https://${'a'.repeat(64)}.com/`, 'name_label_too_long'],
    [`https://${[label, label, label, label].join('.')}/`, 'name_too_long'],
    ["https://a'b.example.com/", 'name_malformed'],
    ['https://a_b.example.com/', 'ok'],
  ])('%j: %s', (input, reason) => {
    expect(reasonOf(input)).toBe(reason);
  });

  test('https only refuses plain http', () => {
    expect(reasonOf('http://example.com/', { httpsOnly: true })).toBe('url_https_only');
    expect(reasonOf('https://example.com/', { httpsOnly: true })).toBe('ok');
  });

  test('its messages say what to mend, and all others are the one generic sentence', () => {
    const message = (input: string) => {
      const verdict = checkUrl(input, DEFAULT_POLICY);
      return verdict.ok ? null : verdict.message;
    };
    expect(message('https://u:p4ss@example.com/')).toMatch(/custom header/);
    expect(message('https://u:p4ss@example.com/')).not.toMatch(/p4ss/);
    expect(message('https://example.com:22/')).toMatch(/port/);
    for (const input of ['http://10.0.0.1/', 'http://db.internal/', 'http://localhost/']) {
      expect(message(input)).toBe(GENERIC_REFUSAL);
    }
  });
});

describe('ports', () => {
  test.each([0, 22, 25, 81, 1023, 2375, 3306, 5432, 6379, 9200, 10250, 11211, 27017])(
    '%d is refused',
    (port) => {
      expect(reasonOf(`http://example.com:${port}/`)).toBe('port_refused');
    },
  );

  test.each([80, 443, 1024, 3000, 8080, 8443, 9000, 65535])('%d is allowed', (port) => {
    expect(reasonOf(`http://example.com:${port}/`)).toBe('ok');
  });

  test('GHOST_WEBHOOK_PORTS replaces the list: a range keeps the internal ports out, a port alone is meant', () => {
    expect(reasonOf('https://example.com/', { ports: '8000-8999' })).toBe('port_refused');
    expect(reasonOf('https://example.com:8300/', { ports: '8000-8999' })).toBe('port_refused');
    expect(reasonOf('https://example.com:8301/', { ports: '8000-8999, 8301' })).toBe('ok');
    expect(reasonOf('https://example.com:22/', { ports: '22' })).toBe('ok');
  });
});

describe('names', () => {
  test.each([
    ['localhost', 'name_loopback'],
    ['a.b.localhost', 'name_loopback'],
    ['localhost.localdomain', 'name_loopback'],
    ['ip6-localhost', 'name_loopback'],
    ['metadata.google.internal', 'name_metadata'],
    ['metadata', 'name_metadata'],
    ['instance-data', 'name_metadata'],
    ['ci.internal', 'name_internal'],
    ['kubernetes.default.svc', 'name_internal'],
    ['x.home.arpa', 'name_internal'],
    ['ipv4only.arpa', 'name_internal'],
    ['web.service.consul', 'name_internal'],
    ['localhost6.localdomain6', 'name_loopback'],
    ['intranet', 'name_single_label'],
    ['internal.example.com', 'ok'],
    ['localhost.example.com', 'ok'],
    ['mylocal', 'name_single_label'],
    ['my-local.com', 'ok'],
  ])('%s: %s', (name, reason) => {
    expect(reasonOf(`https://${name}/`)).toBe(reason);
  });

  test('GHOST_ALLOW_HOSTS lifts name rules for its names, never those of loopback and metadata', () => {
    const allowHosts = 'gitea, ci.internal, *.internal, *.svc.cluster.local';
    expect(reasonOf('http://gitea:3000/', { allowHosts })).toBe('ok');
    expect(reasonOf('http://CI.internal/', { allowHosts })).toBe('ok');
    expect(reasonOf('http://a.b.svc.cluster.local/', { allowHosts })).toBe('ok');
    expect(reasonOf('http://svc.cluster.local/', { allowHosts })).toBe('name_internal');
    expect(reasonOf('http://metadata.google.internal/', { allowHosts })).toBe('name_metadata');
    expect(reasonOf('http://gitea:5432/', { allowHosts })).toBe('port_refused');
  });
});

describe('literals agree with the address check', () => {
  const cases = ['127.0.0.1', '10.0.0.1', '[::1]', '[fd12::1]', '8.8.8.8', '169.254.169.254'];
  test.each(cases)('%s, on each port, with and without exceptions', (host) => {
    const raws = [{}, { allowCidrs: '127.0.0.0/8' }, { allowCidrs: '10.0.0.1:8080,[::1]:8080' }];
    for (const raw of raws) {
      for (const port of [80, 443, 8080]) {
        const policy = policyOf(raw);
        const address = host.replace(/[[\]]/g, '');
        expect(checkUrl(`http://${host}:${port}/`, policy).ok).toBe(
          checkAddress(address, policy, port).allowed,
        );
      }
    }
  });

  test('a lifted range is free of the port rule, but for port 0', () => {
    const raw = { allowCidrs: '127.0.0.0/8' };
    expect(reasonOf('http://127.0.0.1:1/', raw)).toBe('ok');
    expect(reasonOf('http://127.0.0.1:5432/', raw)).toBe('ok');
    expect(reasonOf('http://2130706433:5432/', raw)).toBe('ok');
    expect(reasonOf('http://127.0.0.1:0/', raw)).toBe('loopback');
    expect(reasonOf('http://localhost:5432/', raw)).toBe('name_loopback');
  });
});
