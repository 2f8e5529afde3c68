import { describe, expect, test } from 'vitest';

import { errorOf, KEY, REQUIRED } from '../../../test/support/settings-faults.js';
import { EXIT } from './exit.js';

describe('the error', () => {
  const broken = {
    DATABASE_URL: 'mysql://db/ghost?user=ghost&password=s3cr3tpass',
    GHOST_SECRET_KEYS: `k1:${KEY}x,${KEY}`,
    GHOST_SMTP_URL: 'smtp://mailer:s3cr3tpass@relay/path',
    GHOST_EGRESS_PROXY: 'ftp://proxy:s3cr3tpass@x',
    GHOST_PUBLIC_URL: 'http://admin:s3cr3tpass@ghost.example.com',
    GHOST_DELIVERY_WAKE_URL: 'http://x:s3cr3tpass@delivery/wake',
    GHOST_ALLOW_HOSTS: 'https://x:s3cr3tpass@ci.internal',
    GHOST_SMTP_PASSWORD: 's3cr3tpass',
    GHOST_LEASE_MS: '10',
    GHOST_SMPT_URL: 'smtp://x',
    GHOST_MAX_ATTEMPT: '3',
    GHOST_TOTALLY_MADE_UP: '1',
    PORT: 'http',
  };
  const error = errorOf(broken);

  test('reports every fault together, each with what to do, and exits 78', () => {
    const names = error.faults.map(({ name }) => name.split('=')[0]);
    expect(new Set(names)).toEqual(new Set(Object.keys(broken)));
    for (const { name, problem, remedy } of error.faults) {
      expect(error.message).toContain(`${name} ${problem}. ${remedy}.`);
      expect(remedy).not.toBe('');
    }
    expect(error.exitCode).toBe(78);
    expect(EXIT).toEqual({ config: 78, unavailable: 69, failed: 1 });
  });

  test('shows bad values, but never a secret or a piece of a key', () => {
    expect(error.message).toContain('GHOST_LEASE_MS="10"');
    expect(error.message).toContain('PORT="http"');
    const said = error.message + JSON.stringify(error);
    expect(said).not.toContain('s3cr3tpass');
    for (let at = 0; at + 6 <= KEY.length; at += 1) {
      expect(said).not.toContain(KEY.slice(at, at + 6));
    }
  });

  test('hints at the name that was meant, when one is near', () => {
    expect(error.message).toContain(
      'GHOST_SMPT_URL is no setting of Ghost. Did you mean GHOST_SMTP_URL?',
    );
    expect(error.message).toContain('Did you mean GHOST_MAX_ATTEMPTS?');
    expect(error.message).toContain('GHOST_TOTALLY_MADE_UP is no setting of Ghost. Remove it.');
  });

  test('cuts long values and keeps each fault on one line', () => {
    const { message } = errorOf({ ...REQUIRED, LOG_LEVEL: `a\n${'b'.repeat(500)}` });
    expect(message.split('\n')).toHaveLength(2);
    expect(message.length).toBeLessThan(300);
  });
});
