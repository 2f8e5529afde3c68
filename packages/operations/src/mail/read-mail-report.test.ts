import { randomBytes, randomUUID } from 'node:crypto';

import { bounceAddress, parseKeyRing } from '@ghost/vault';
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { readMailReport } from './read-mail-report.js';

const parsed = parseKeyRing(`a:${randomBytes(32).toString('base64')}`);
if (!parsed.ok) throw new Error('No key ring');
const { ring } = parsed;
const ID = randomUUID();
const PATH = bounceAddress(ring, ID, 'bounces.example');

const BOUNCE = [
  'Return-Path: <>',
  `To: ${PATH}`,
  'Content-Type: multipart/report; report-type=delivery-status; boundary="B1"',
  '',
  '--B1',
  'Content-Type: text/plain; charset=iso-8859-1',
  'Content-Transfer-Encoding: quoted-printable',
  '',
  'Sorry=2E',
  '--B1',
  'Content-Type: message/delivery-status',
  '',
  'Reporting-MTA: dns; mx.example',
  '',
  'Final-Recipient: rfc822; reader@people.example',
  'Action: failed',
  'Status: 5.1.1',
  '--B1',
  'Content-Type: message/rfc822',
  '',
  `Return-Path: <${PATH}>`,
  'Subject: x',
  '',
  'Hi',
  '--B1--',
  '',
].join('\r\n');
const PIECES = ['\r\n', '\n', '\r\n\r\n', '\0', '--B1', '--B1--', '"', ';', ':', '=', '\xff', PATH];

/** At a place of what is there so many characters are taken out, and this is put in. */
const edit = fc.record({
  at: fc.nat(BOUNCE.length),
  out: fc.nat(60),
  put: fc.constantFrom('', ...PIECES),
});

test('whatever is done to a bounce on its way, it is read or not, and is about no other mail', async () => {
  const edits = fc.array(edit, { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(edits, async (all) => {
      let text = BOUNCE;
      for (const { at, out, put } of all) text = text.slice(0, at) + put + text.slice(at + out);
      const report = await readMailReport(Buffer.from(text, 'latin1'), ring);
      expect(report.kind === 'none' ? ID : report.jobId).toBe(ID);
    }),
    { numRuns: 300 },
  );
});

test.each(['', ';', '"', '; boundary=b', '/', 'x', '\0'])(
  'a part of the type %j beside it changes nothing',
  async (type) => {
    const part = `--B1\r\nContent-Type: ${type}\r\n\r\nx\r\n`;
    const raw = BOUNCE.replace('--B1\r\n', `${part}--B1\r\n`);
    expect(await readMailReport(Buffer.from(raw, 'latin1'), ring)).toMatchObject({ jobId: ID });
  },
);
