/*
 * Loaded into a child before its program (`node --import`). Its standard input is a pipe from the
 * parent: when that ends, the parent is gone (kill -9 included), and the child stops in good order.
 */
const parent = process.stdin;
const stop = () => process.kill(process.pid, 'SIGTERM');
parent.once('end', stop).once('error', stop).resume();
// Waiting for the parent's end must not keep an otherwise finished process alive.
parent.unref();
export {};
