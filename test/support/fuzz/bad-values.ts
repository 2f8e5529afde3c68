/** More than any text may hold; small enough to be sent a thousand times. */
export const TOO_LONG = 'a'.repeat(300_000);

/** No route has them; an object answers to some of them. */
export const UNKNOWN_FIELDS = ['zzz_unknown', 'constructor', 'toString', 'hasOwnProperty', ''];

/** No moments, or moments that neither Postgres nor an answer could write: an offset can lead there. */
export const BAD_TIMES = [
  '9999-12-31T23:59:59-23:59',
  '0000-01-01T00:00:00Z',
  '0000-01-01T00:00:00+23:59',
  '0001-01-01T00:00:00+00:01',
  '2027-01-31T12:00:00',
  '2027-02-30T12:00:00Z',
  '2027-01-31',
];
