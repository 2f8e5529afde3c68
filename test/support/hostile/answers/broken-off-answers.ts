import { answers, delivered, fails, type HostileCase } from './hostile-case.js';
import { bytesOf, head, OK, saysAndBreaksOff, saysAndEnds, saysAndResets } from './server-moves.js';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../../tls-certificate.js';
import {
  CERTIFICATE_OF_ANOTHER,
  EXPIRED_CERTIFICATE,
  UNTRUSTWORTHY_KEY,
} from './untrustworthy-certificates.js';

const CLOSED = fails('connection_closed');
const RESET = fails('connection_reset');
/** A reset may come while the request is written, or be read together with bytes before it: then it looks like an end. */
const CUT = fails('connection_reset', 'connection_closed');
const TRUSTED = { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY };
const HALF_HEAD = `${OK}\r\ncontent-length: 0\r\nx-`;
const TEN = head(OK, 'content-length: 10');

const tls = (what: string, play: HostileCase['play'], reason = 'tls_failed'): HostileCase => ({
  what: `${what} in the TLS handshake`,
  secure: 'bare',
  at: 'accept',
  play: (socket, pace) => socket.once('data', () => play(socket, pace)),
  expected: fails(reason),
});
const certificate = (what: string, vector: string, pem: string, reason: string): HostileCase => ({
  what,
  vector,
  secure: { cert: pem, key: UNTRUSTWORTHY_KEY },
  play: saysAndEnds(TEN),
  expected: fails(reason),
});

/** Servers that go away in each phase, or cannot be trusted. */
export const BROKEN_OFF_ANSWERS: readonly HostileCase[] = [
  { what: 'closes at once', at: 'accept', play: (socket) => void socket.end(), expected: CUT },
  { what: 'resets at once', at: 'accept', play: saysAndResets(''), expected: CUT },
  tls('closes', saysAndEnds('')),
  tls('resets', saysAndResets('')),
  tls('gives an alert', saysAndEnds('\x15\x03\x03\x00\x02\x02\x28'), 'tls_protocol'),
  tls(
    'speaks plain HTTP',
    saysAndEnds(head('HTTP/1.1 400 Bad Request', 'content-length: 0')),
    'tls_protocol',
  ),
  certificate('has a certificate that expired', 'resp-027', EXPIRED_CERTIFICATE, 'tls_expired'),
  certificate("has another's certificate", 'resp-029', CERTIFICATE_OF_ANOTHER, 'tls_wrong_host'),
  {
    what: 'has no key exchange but by Diffie-Hellman in a field of 8,192 bits',
    secure: { ...TRUSTED, minVersion: 'TLSv1.3', ecdhCurve: 'ffdhe8192' },
    play: saysAndEnds(TEN),
    expected: fails('tls_protocol'),
  },
  {
    what: 'closes after the TLS handshake',
    secure: TRUSTED,
    at: 'accept',
    play: saysAndEnds(''),
    expected: CUT,
  },
  {
    what: 'closes after half a head over TLS, without a word of TLS',
    secure: TRUSTED,
    play: saysAndBreaksOff(HALF_HEAD),
    expected: CUT,
  },
  {
    what: 'closes in the body over TLS, without a word of TLS',
    secure: TRUSTED,
    play: saysAndBreaksOff(`${TEN}abc`),
    expected: delivered(200, { body: 'abc' }),
  },
  { what: 'closes without an answer', play: saysAndEnds(''), expected: CLOSED },
  { what: 'resets without an answer', play: saysAndResets(''), expected: RESET },
  { what: 'closes in its status line', play: saysAndEnds('HTTP/1.1 2'), expected: CLOSED },
  { what: 'resets in its status line', play: saysAndResets('HTTP/1.1 2'), expected: CUT },
  { what: 'closes after half a head', play: saysAndEnds(HALF_HEAD), expected: CLOSED },
  { what: 'resets after half a head', play: saysAndResets(HALF_HEAD), expected: CUT },
  {
    what: 'closes before the empty line',
    play: saysAndEnds(`${OK}\r\nx: y\r\n`),
    expected: CLOSED,
  },
  {
    what: 'closes after 103',
    play: saysAndEnds(head('HTTP/1.1 103 Early Hints')),
    expected: CLOSED,
  },
  {
    what: 'closes after 3 of 100 bytes',
    vector: 'resp-022',
    play: saysAndEnds(`${head(OK, 'content-length: 100')}abc`),
    expected: delivered(200, { body: 'abc' }),
  },
  {
    what: 'resets after 3 of 10 bytes',
    play: saysAndResets(`${TEN}abc`),
    expected: delivered(200, { body: 'abc' }),
  },
  {
    what: 'resets in the body of a 500',
    play: saysAndResets(`${head('HTTP/1.1 500 No', 'content-length: 10')}abc`),
    expected: answers(500, 'http_5xx', { body: 'abc' }),
  },
  {
    what: 'closes in a chunk',
    play: saysAndEnds(`${head(OK, 'transfer-encoding: chunked')}a\r\nabc`),
    expected: delivered(200, { body: 'abc' }),
  },
  {
    what: 'resets after a complete answer',
    play: saysAndResets(`${TEN}0123456789`),
    expected: delivered(200, { body: '0123456789' }),
  },
  {
    what: 'answers 413 at once, closes its side and reads on',
    at: 'accept',
    play: saysAndEnds(head('HTTP/1.1 413 Too Large', 'content-length: 0', 'connection: close')),
    // It may come before the request was begun, to which it then is no answer.
    expected: {
      verdict: 'retry',
      reasons: ['http_4xx', 'bad_response', 'connection_closed', 'connection_reset'],
    },
  },
  {
    what: 'answers 413 after the first bytes of the request, and closes',
    at: 'accept',
    play: (socket) =>
      void socket.once('data', () =>
        socket.end(
          bytesOf(head('HTTP/1.1 413 Too Large', 'content-length: 0', 'connection: close')),
        ),
      ),
    expected: answers(413, 'http_4xx'),
  },
];
