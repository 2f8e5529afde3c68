import { expect, test } from 'vitest';

import { requestBytes } from './request-bytes.js';

const REQUEST = { host: 'example.com:8080', path: '/a?b', headers: { 'x-a': 'caf\xe9' } };

test('a request is its head in Latin-1 and its body as it is, with the length in bytes', () => {
  const body = Buffer.from('{"a":"ü"}');
  expect(requestBytes({ ...REQUEST, body }).toString('latin1')).toBe(
    `POST /a?b HTTP/1.1\r\nhost: example.com:8080\r\nx-a: caf\xe9\r\ncontent-length: 10\r\n\r\n${body.toString('latin1')}`,
  );
});

test.each(['a\r\nb: c', 'a\nb', 'a\rb', 'a\0b', 'snow☃'])(
  'a value that would end its line, or has no byte, is never sent: %j',
  (value) => {
    for (const headers of [{ 'x-a': value }, { [value]: 'v' }]) {
      expect(() => requestBytes({ ...REQUEST, headers, body: Buffer.alloc(0) })).toThrow(
        'cannot be sent',
      );
    }
  },
);
