import { describe, expect, test } from 'vitest';
import { type RunningProcess, startProcess } from './processes.js';
import { waitUntil } from './wait-until.js';

const node = (script: string) => [process.execPath, '-e', script];
const STAY = 'setInterval(() => {}, 1000);';

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('startProcess', () => {
  test('waits until the process says that it works, on stdout or stderr', async () => {
    const started = await startProcess({
      name: 'sayer',
      command: node(`console.log('one'); console.error('ready at 7'); ${STAY}`),
      ready: /ready at \d/,
    });
    expect(started.lines()).toEqual(expect.arrayContaining(['one', 'ready at 7']));
    expect(await started.waitForLine((line) => line === 'one')).toBe('one');
  });

  test('hands over the given environment and PATH, and nothing of its own', async () => {
    process.env['GHOST_OF_THE_PARENT'] = 'boo';
    const started = await startProcess({
      name: 'environment',
      command: node('console.log(JSON.stringify(process.env))'),
      env: { GIVEN: 'yes' },
      ready: /GIVEN/,
    });
    delete process.env['GHOST_OF_THE_PARENT'];
    const seen = JSON.parse(started.lines()[0] ?? '') as Record<string, string>;
    expect(seen).toEqual({ PATH: process.env['PATH'], GIVEN: 'yes' });
  });

  test('tells how a process ended that never worked, with its last lines', async () => {
    const started = startProcess({
      name: 'breaker',
      command: node(`console.error('no port'); process.exit(69)`),
      ready: /listening/,
    });
    await expect(started).rejects.toThrow(
      /breaker ended \(exit code 69\) before.*\/listening\/\. Its last lines:\n {2}no port/,
    );
  });

  test('stops by SIGTERM and passes the exit code on', async () => {
    const polite = await startProcess({
      name: 'polite',
      command: node(
        `process.on('SIGTERM', () => { console.log('bye'); process.exit(3) }); console.log('up'); ${STAY}`,
      ),
      ready: /up/,
    });
    expect(await polite.stop()).toEqual({ code: 3, signal: null });
    expect(polite.lines()).toEqual(['up', 'bye']);
    expect(await polite.stop()).toEqual({ code: 3, signal: null });
  });

  test('kill9 leaves no time, and what the process started goes too', async () => {
    const parent = await startProcess({
      name: 'parent',
      command: node(
        `const child = require('child_process').spawn('sleep', ['300']);
         process.on('SIGTERM', () => {}); console.log('child ' + child.pid); ${STAY}`,
      ),
      ready: /child \d+/,
    });
    const child = Number(parent.lines()[0]?.split(' ')[1]);
    expect(runs(child)).toBe(true);
    expect(await parent.kill9()).toEqual({ code: null, signal: 'SIGKILL' });
    await waitUntil(() => !runs(child), { what: 'the end of the child' });
  });
});

describe('at the end of a test', () => {
  let forgotten: RunningProcess | undefined;

  test('a process that the test forgets', async () => {
    forgotten = await startProcess({ name: 'forgotten', command: node(STAY) });
    expect(runs(forgotten.pid)).toBe(true);
  });

  test('is killed', async () => {
    expect(await forgotten?.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });
});
