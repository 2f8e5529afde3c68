import { describe, expect, test } from 'vitest';

import { oldSecretHint, type SecretHistory } from './old-secret-hint.js';

const at = (hour: number) => new Date(Date.UTC(2026, 10, 30, hour));
const NOW = at(12);

/** Changed at 2, the old secret ended at 8, taken until 7, refused at 9. */
const ENDED: SecretHistory = {
  secretChangedAt: at(2),
  oldSecretUntil: at(8),
  lastSuccessAt: at(7),
  last: { startedAt: at(9), status: 401 },
  githubSignature: false,
};
/** Changed at 2, both sign until 20; taken until 1, refused at 9. */
const ROTATING: SecretHistory = { ...ENDED, oldSecretUntil: at(20), lastSuccessAt: at(1) };

describe('a receiver seems to have the old secret', () => {
  test.each([400, 401, 403])(
    'when it took what came before the old one ended, and answers %i since',
    (status) => {
      const hint = oldSecretHint({ ...ENDED, last: { startedAt: at(9), status } }, NOW);
      expect(hint).toContain(
        `answers ${status} and has taken nothing since ${at(8).toISOString()}`,
      );
      expect(hint).toMatch(/give it the new secret\.$/u);
    },
  );

  test('when it has failed since the change, through the overlap and after', () => {
    expect(oldSecretHint({ ...ENDED, lastSuccessAt: at(1) }, NOW)).not.toBeNull();
  });

  test('when a secret was replaced with no overlap', () => {
    const once = { ...ENDED, secretChangedAt: at(8), oldSecretUntil: at(8) };
    expect(oldSecretHint(once, NOW)).not.toBeNull();
  });

  test('when it refuses although both sign: it reads one signature only', () => {
    expect(oldSecretHint(ROTATING, NOW)).toMatch(/both secrets sign: .*first signature only/u);
    expect(oldSecretHint({ ...ROTATING, githubSignature: true }, NOW)).toMatch(
      /both secrets sign, but x-hub-signature-256 holds the new one alone: /u,
    );
  });
});

describe('nothing points to the old secret', () => {
  const cases: Record<string, SecretHistory> = {
    'the secret is the first': { ...ENDED, secretChangedAt: null, oldSecretUntil: null },
    'nothing was tried': { ...ENDED, last: null },
    'no answer came': { ...ENDED, last: { startedAt: at(9), status: null } },
    'it fails in another way': { ...ENDED, last: { startedAt: at(9), status: 500 } },
    'it is gone': { ...ENDED, last: { startedAt: at(9), status: 410 } },
    'the endpoint never took anything': { ...ENDED, lastSuccessAt: null },
    'it has taken something since the old one ended': { ...ENDED, lastSuccessAt: at(10) },
    'it has taken something since the change, and both sign': { ...ROTATING, lastSuccessAt: at(3) },
    'nothing was tried since the old one ended': {
      ...ENDED,
      last: { startedAt: at(7), status: 401 },
    },
    'nothing was tried since the change': { ...ROTATING, last: { startedAt: at(1), status: 401 } },
  };

  test.each(Object.keys(cases))('when %s', (name) => {
    const history = cases[name];
    expect(history && oldSecretHint(history, NOW)).toBeNull();
  });
});
