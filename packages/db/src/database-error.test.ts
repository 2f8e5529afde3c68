import dns from 'node:dns';
import { getSystemErrorMap } from 'node:util';

import pg from 'pg';
import { describe, expect, test } from 'vitest';

import { createTestDatabase } from '../../../test/support/test-database.js';
import { DatabaseUnavailableError, databaseErrorCode, isDatabaseOutage } from './database-error.js';

const coded = (code: string, more: object = {}) =>
  Object.assign(new Error('no'), { code, ...more });

/** What Node can say at all: a code that is misspelt here and in the table would be found by nobody. */
const NODE_CODES = [...[...getSystemErrorMap().values()].map(([code]) => code), dns.NOTFOUND];

describe('an outage', () => {
  test.each([
    ['08006', 'the connection failed'],
    ['08P01', 'a pooler lost its server'],
    ['25006', 'read-only during a failover'],
    ['28000', 'a pooler during a failover'],
    ['28P01', 'a pooler that could not ask for the password'],
    ['3D000', 'a pooler that does not know the database yet'],
    ['40P01', 'a deadlock'],
    ['53300', 'too many connections'],
    ['57P01', 'the server shuts down'],
    ['57P03', 'the server starts'],
    ['58030', 'its disk failed'],
    ['XX000', 'an internal error'],
  ])('is SQLSTATE %s: %s', (code) => {
    expect(isDatabaseOutage(coded(code))).toBe(true);
    expect(isDatabaseOutage(new Error('Failed query', { cause: coded(code) }))).toBe(true);
  });

  test.each([
    'ECONNREFUSED',
    'ECONNRESET',
    'ECONNABORTED',
    'EPIPE',
    'ETIMEDOUT',
    'ENOTFOUND',
    'EAI_AGAIN',
    'EHOSTUNREACH',
    'EHOSTDOWN',
    'ENETUNREACH',
    'ENETDOWN',
    'EADDRNOTAVAIL',
  ])('is %s of the socket', (code) => {
    expect(NODE_CODES).toContain(code);
    expect(isDatabaseOutage(coded(code))).toBe(true);
  });

  test.each(['ENOENT', 'EMFILE', 'ENFILE', 'EACCES', 'ENOBUFS'])(
    'is %s of a connect, and of nothing else',
    (code) => {
      expect(NODE_CODES).toContain(code);
      expect(isDatabaseOutage(coded(code, { syscall: 'connect' }))).toBe(true);
      expect(
        isDatabaseOutage(new Error('query', { cause: coded(code, { syscall: 'connect' }) })),
      ).toBe(true);
      expect(isDatabaseOutage(coded(code, { syscall: 'open' }))).toBe(false);
      expect(isDatabaseOutage(coded(code))).toBe(false);
    },
  );

  test('is a connection that ended, told by our class or by the driver', () => {
    expect(isDatabaseOutage(new DatabaseUnavailableError('gone'))).toBe(true);
    expect(isDatabaseOutage(new Error('Connection terminated unexpectedly'))).toBe(true);
    expect(isDatabaseOutage(new AggregateError([coded('ECONNREFUSED')]))).toBe(true);
  });

  test('is what the driver says of a unix socket that is missing', async () => {
    const client = new pg.Client({ host: '/no-such-directory', user: 'x', database: 'y' });
    const error = await client.connect().catch((thrown: unknown) => thrown);
    expect(databaseErrorCode(error)).toBe('ENOENT');
    expect(isDatabaseOutage(error)).toBe(true);
  });

  test('is what the driver says of a port where nobody listens', async () => {
    const client = new pg.Client({ host: '127.0.0.1', port: 1, user: 'x', database: 'y' });
    const error = await client.connect().catch((thrown: unknown) => thrown);
    expect(databaseErrorCode(error)).toBe('ECONNREFUSED');
    expect(isDatabaseOutage(error)).toBe(true);
  });

  test('is what a server says that takes no writes', async () => {
    const database = await createTestDatabase();
    const client = new pg.Client({
      connectionString: database.url,
      options: '-c default_transaction_read_only=on',
    });
    try {
      await client.connect();
      const error = await client
        .query('CREATE TABLE nothing ()')
        .catch((thrown: unknown) => thrown);
      expect(databaseErrorCode(error)).toBe('25006');
      expect(isDatabaseOutage(error)).toBe(true);
    } finally {
      await client.end();
      await database.drop();
    }
  });
});

describe('no outage', () => {
  test.each([
    ['22021', 'a text that cannot be held'],
    ['23505', 'a duplicate'],
    ['42P01', 'a table that is missing'],
    ['57014', 'a statement that took too long: its own fault, and it would again'],
    ['P0001', 'raised by a function of ours'],
    ['XX001', 'a damaged page: each try meets it again'],
  ])('is SQLSTATE %s: %s', (code) => {
    expect(isDatabaseOutage(coded(code))).toBe(false);
  });

  test('is a fault of ours, or what is no error', () => {
    expect(isDatabaseOutage(new TypeError('x is not a function'))).toBe(false);
    expect(isDatabaseOutage('ECONNRESET')).toBe(false);
    expect(isDatabaseOutage(undefined)).toBe(false);
  });
});
