import { generateKeyPairSync } from 'node:crypto';

import { describe, expect, test } from 'vitest';

import { errorOf, noFile, REQUIRED } from '../../../test/support/settings-faults.js';
import { readSettings } from './read-settings.js';

describe('files', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
  const ed25519 = generateKeyPairSync('ed25519').privateKey;
  const pss = generateKeyPairSync('rsa-pss', { modulusLength: 1024 }).privateKey;
  const pem = (key: typeof rsa) => key.export({ type: 'pkcs8', format: 'pem' }).toString();
  const dkim = {
    GHOST_DKIM_DOMAIN: 'example.com',
    GHOST_DKIM_SELECTOR: '2026a',
    GHOST_DKIM_KEY_FILE: '/dkim.pem',
  };

  test('are read by delivery, as what they hold', () => {
    const settings = readSettings({ ...REQUIRED, ...dkim }, 'delivery', () => pem(rsa));
    expect(settings.dkim).toEqual({
      domain: 'example.com',
      selector: '2026a',
      privateKey: pem(rsa),
    });
  });

  test('a key of another kind, no key, no file: each is a fault without what was in it', () => {
    for (const readFile of [() => pem(ed25519), () => pem(pss), () => 'hunter2hunter2', noFile]) {
      const { faults, message } = errorOf({ ...REQUIRED, ...dkim }, 'delivery', readFile);
      expect(faults.map(({ name }) => name)).toEqual(['GHOST_DKIM_KEY_FILE="/dkim.pem"']);
      expect(message).not.toMatch(/PRIVATE|hunter2|MC4C/);
    }
  });

  test('a CA file without a certificate is a fault', () => {
    const env = { ...REQUIRED, GHOST_EXTRA_CA_FILE: '/ca.pem' };
    const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----';
    for (const text of ['', broken]) {
      expect(errorOf(env, 'delivery', () => text).faults).toHaveLength(1);
    }
    expect(errorOf(env, 'delivery').message).toContain('ENOENT');
  });

  test('are not touched by processes that do not use them', () => {
    const env = { ...REQUIRED, ...dkim, GHOST_EXTRA_CA_FILE: '/ca.pem' };
    expect(readSettings(env, 'api', noFile)).toMatchObject({ extraCa: [], dkim: null });
    expect(() => readSettings(env, 'cli', noFile)).not.toThrow();
  });
});
