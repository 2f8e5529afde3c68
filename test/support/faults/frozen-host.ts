import { apiClient } from '../api-client.js';
import { testEnvironment } from '../ghost-processes.js';
import { addPerson, startProofApi, startProofDatabase } from '../proof-world.js';
import { startTcpProxy } from '../tcp-proxy.js';
import { waitUntil } from '../wait-until.js';
import { type Fault, logged, startCalls, startWorker } from './fault-world.js';

/** Long enough for the clock gap to be certain: 4 s, and a tick. */
const FROZEN_MS = 6_000;
const WITHIN_MS = 3_000;

/** A host freezes idle API and delivery; the network forgets their connections; a request thaws them. */
export const frozenHost: Fault = {
  name: 'idle API and delivery frozen',
  async *run(stops) {
    const database = await startProofDatabase(stops);
    const proxy = await startTcpProxy({ targetPort: Number(new URL(database.url).port) });
    stops.add(() => proxy.stop());
    const calls = await startCalls(stops);
    const url = proxy.urlFor(database.url);
    const api = await startProofApi(stops, url, testEnvironment(url));
    const delivery = await startWorker(stops, url);
    const ada = apiClient(api.url, await addPerson(database.pool, 'ada'));
    await ada.expect(201, 'POST', '/user/repos', { name: 'demo', private: false });
    await ada.expect(201, 'POST', '/repos/ada/demo/threads', { title: 'Frozen', body: 'Start' });
    const hook = { config: { url: calls.receiver.url }, events: ['comment.created'] };
    await ada.expect(201, 'POST', '/repos/ada/demo/hooks', hook);
    const comment = (body: string) =>
      ada.send('POST', '/repos/ada/demo/threads/1/comments', { body });
    const comments = () =>
      calls.receiver
        .requests()
        .filter(({ headers }) => headers['x-ghost-event'] === 'comment.created').length;
    await comment('Before');
    await waitUntil(() => comments() === 1, { what: 'the first comment' });

    const processes = [api.process, delivery];
    for (const { child } of processes) child.kill('SIGSTOP');
    for (const connection of proxy.connections()) connection.blackHole();
    const frozenAt = performance.now();
    await waitUntil(() => performance.now() - frozenAt > FROZEN_MS, {
      timeoutMs: FROZEN_MS * 2,
      what: 'the freeze to last',
    });
    for (const { child } of processes) child.kill('SIGCONT');
    const startedAt = performance.now();
    const { status } = await comment('After');
    const answeredMs = Math.round(performance.now() - startedAt);
    await waitUntil(() => comments() === 2, { timeoutMs: 60_000, what: 'the second comment' });
    const tookMs = Math.round(performance.now() - startedAt);
    const gaps = [logged(api.process, 'outbox.clock_gap'), logged(delivery, 'delivery.clock_gap')];
    yield {
      what: `${this.name}, then a comment: answer, after; its webhook after`,
      figure: `${status}, ${answeredMs} ms; ${tookMs} ms`,
      bound: `201, ≤ 1,000 ms; ≤ ${WITHIN_MS} ms`,
      ok: status === 201 && answeredMs <= 1_000 && tookMs <= WITHIN_MS,
    };
    yield {
      what: 'clock gaps noticed by each',
      figure: gaps.map(({ length }) => length).join(', '),
      bound: '1, 1',
      ok: gaps.every(({ length }) => length === 1),
    };
  },
};
