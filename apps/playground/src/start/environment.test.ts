import { SettingsError } from '@ghost/settings';
import { generateKeyEntry } from '@ghost/vault';
import { describe, expect, test } from 'vitest';

import { catchesMails, checkSettings, childEnvironments, listenHost } from './environment.js';

const WIRING = {
  databaseUrl: 'postgres://127.0.0.1:5000/ghost',
  secretKeys: generateKeyEntry('k1'),
  smtpUrl: 'smtp://127.0.0.1:2500',
  apiPort: 3000,
  deliveryPort: 3001,
};

describe('childEnvironments', () => {
  test('names everything that the children need and nothing that was inherited', () => {
    const { api, delivery } = childEnvironments(
      { PATH: '/bin', SECRET: 'x', NODE_ENV: 'y' },
      WIRING,
    );
    expect(api).toEqual({
      DATABASE_URL: WIRING.databaseUrl,
      GHOST_SECRET_KEYS: WIRING.secretKeys,
      GHOST_PUBLIC_URL: 'http://127.0.0.1:3000',
      GHOST_MAIL_FROM: 'Ghost <ghost@example.test>',
      GHOST_RETRY_BASE_MS: '400',
      GHOST_RATE_LIMIT: '1000000',
      GHOST_RATE_LIMIT_ANONYMOUS: '1000000',
      GHOST_DELIVERY_WAKE_URL: 'http://127.0.0.1:3001/wake',
      GHOST_SMTP_URL: WIRING.smtpUrl,
      GHOST_SMTP_TLS: 'off',
      GHOST_ALLOW_CIDRS: '127.0.0.0/8',
      HOST: '127.0.0.1',
      PORT: '3000',
    });
    expect(delivery).toEqual({ ...api, PORT: '3001' });
  });

  test('what the person set wins, and their ranges stay allowed beside loopback', () => {
    const { api, delivery } = childEnvironments(
      {
        GHOST_RETRY_BASE_MS: '9',
        GHOST_ALLOW_CIDRS: '10.0.0.0/8',
        GHOST_MAX_ATTEMPTS: ' ',
        LOG_LEVEL: 'debug',
        HOST: '0.0.0.0',
      },
      WIRING,
    );
    expect(api).toMatchObject({
      GHOST_RETRY_BASE_MS: '9',
      GHOST_ALLOW_CIDRS: '10.0.0.0/8,127.0.0.0/8',
      LOG_LEVEL: 'debug',
      HOST: '0.0.0.0',
      GHOST_PUBLIC_URL: 'http://127.0.0.1:3000',
    });
    expect(api).not.toHaveProperty('GHOST_MAX_ATTEMPTS');
    expect(delivery['HOST']).toBe('127.0.0.1');
  });

  test('a relay of the person gets the mails with its own rules for TLS', () => {
    const env = { GHOST_SMTP_URL: 'smtps://relay.example.test' };
    expect(catchesMails(env)).toBe(false);
    const { delivery } = childEnvironments(env, WIRING);
    expect(delivery).toMatchObject(env);
    expect(delivery).not.toHaveProperty('GHOST_SMTP_TLS');
  });

  test('a way around the pooler of another database is not taken to the embedded one', () => {
    const env = { GHOST_LISTEN_DATABASE_URL: 'postgres://elsewhere/ghost' };
    expect(childEnvironments(env, WIRING).api).not.toHaveProperty('GHOST_LISTEN_DATABASE_URL');
    const both = { ...env, DATABASE_URL: WIRING.databaseUrl };
    expect(childEnvironments(both, WIRING).api).toMatchObject(env);
  });

  test('the make of the machine in HOST is no address to listen on', () => {
    expect(listenHost({ HOST: 'x86_64-conda-linux-gnu' })).toBe('127.0.0.1');
    expect(listenHost({ HOST: '::1' })).toBe('::1');
  });
});

describe('checkSettings', () => {
  test('finds every fault of the environment before anything starts', () => {
    const read = () =>
      checkSettings({ GHOST_LANE_CONCURENCY: '5', GHOST_SECRET_KEYS: 'k1:short', PORT: 'high' });
    expect(read).toThrow(SettingsError);
    expect(read).toThrow(/GHOST_LANE_CONCURENCY[^\n]*GHOST_LANE_CONCURRENCY/u);
    expect(read).toThrow(/GHOST_SECRET_KEYS/u);
    expect(read).toThrow(/PORT/u);
  });

  test('finds a setting that contradicts what the playground sets', () => {
    expect(() => checkSettings({ GHOST_RETRY_CAP_MS: '1' })).toThrow(/GHOST_RETRY_CAP_MS/u);
  });

  test('tells whether a database was given', () => {
    expect(checkSettings({}).databaseUrl).toBeNull();
    expect(checkSettings({ DATABASE_URL: WIRING.databaseUrl }).databaseUrl).toBe(
      WIRING.databaseUrl,
    );
  });
});
