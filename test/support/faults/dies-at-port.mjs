// Loaded before a delivery process (`node --import`): it dies when it is about to dial the port in
// TEST_DEADLY_PORT, as one would that a job makes crash.

import { Socket } from 'node:net';

const deadlyPort = Number(process.env.TEST_DEADLY_PORT);
const connect = Reflect.get(Socket.prototype, 'connect');

Socket.prototype.connect = function (...args) {
  const [options] = args.flat();
  if (Number(options?.port) === deadlyPort) process.kill(process.pid, 'SIGKILL');
  return Reflect.apply(connect, this, args);
};
