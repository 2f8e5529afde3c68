import { DatabaseUnavailableError } from '@ghost/db';
import { describe, expect, test } from 'vitest';

import { describeDatabase, explainDatabaseTrouble } from './database-trouble.js';

const URL_WITH_PASSWORD = 'postgres://ghost:hunter2@db.example.test:5433/my%20ghost';
const coded = (code: string) => Object.assign(new Error('secret detail'), { code });

describe('describeDatabase', () => {
  test.each([
    [URL_WITH_PASSWORD, '"my ghost" at db.example.test:5433'],
    ['postgres://127.0.0.1/ghost', '"ghost" at 127.0.0.1'],
    ['postgres:///ghost?host=/run/postgresql', '"ghost" at /run/postgresql'],
    ['not a url', 'that DATABASE_URL names'],
  ])('names %s without user and password', (url, text) => {
    expect(describeDatabase(url)).toBe(text);
  });
});

describe('explainDatabaseTrouble', () => {
  test.each([
    ['ECONNREFUSED', 'nothing listens there'],
    ['ENOTFOUND', 'cannot be resolved'],
    ['28P01', 'refuses the user or password'],
    ['3D000', 'no such database'],
    ['42501', 'lacks a permission'],
    ['57P03', 'starting up'],
    ['53300', 'does not answer (53300)'],
    ['ETIMEDOUT', 'does not answer (ETIMEDOUT)'],
  ])('says what %s means and what to do', (code, text) => {
    // Drizzle wraps what the driver threw.
    const error = new Error('Failed query', { cause: coded(code) });
    const said = explainDatabaseTrouble(error, URL_WITH_PASSWORD);
    expect(said).toContain(text);
    expect(said).not.toMatch(/hunter2|secret detail/u);
  });

  test('a connection that ended is trouble too, a broken statement is none', () => {
    expect(explainDatabaseTrouble(new DatabaseUnavailableError('gone'), '')).toContain('no answer');
    expect(explainDatabaseTrouble(coded('42601'), '')).toBeNull();
    expect(explainDatabaseTrouble(new Error('ours'), '')).toBeNull();
  });
});
