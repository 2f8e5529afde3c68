import type { Socket } from 'node:net';

/** Calls back each time a request has come to its end, with its head. */
export function onRequest(socket: Socket, callback: (head: string) => void): void {
  let got = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    got = Buffer.concat([got, chunk]);
    for (;;) {
      const headEnd = got.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const head = got.toString('latin1', 0, headEnd);
      const length = Number(/^content-length: (\d+)$/imu.exec(head)?.[1] ?? 0);
      const end = headEnd + 4 + length;
      if (got.length < end) return;
      got = got.subarray(end);
      callback(head);
    }
  });
}
