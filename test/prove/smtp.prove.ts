import { setTimeout as delay } from 'node:timers/promises';

import { createDeliverySeed, type DeliverySeed } from '../support/delivery-seed.js';
import { startWorker } from '../support/load/load-world.js';
import { progress } from '../support/progress.js';
import { type ProofRow, startProofDatabase } from '../support/proof-world.js';
import { type ScriptedSmtp, type SmtpAnswer, startScriptedSmtp } from '../support/scripted-smtp.js';
import { withStops } from '../support/stops.js';
import { waitUntil } from '../support/wait-until.js';

export const name =
  'A relay that cuts every connection, and one that takes 70 s for its 250: each mail arrives once';

const MAILS = 200;
const DOMAINS = 20;
const CUT_AFTER_MS = 15;
/** As a relay that is not on this machine: the cut comes within the greeting. */
const REPLY_AFTER_MS = 10;
const CUTTING_FOR_MS = 120_000;
const MINUTE_MS = 60_000;
/** Ten that go at once, and probes after 5, 15 and 35 s. */
const CONNECTIONS_BOUND = 15;
/** The rest that was begun last may take so long. */
const MENDED_WITHIN_MS = 200_000;
const SLOW_ANSWER_MS = 70_000;

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const { url } = await startProofDatabase(stops);
    const seed = await createDeliverySeed(url);
    stops.add(() => seed.close());
    const scene = { slow: false, cutting: false, openedAt: [] as number[] };
    const relay = await startScriptedSmtp({
      answer: ({ phase }): SmtpAnswer | undefined => {
        if (phase === 'banner') return { reply: '220 relay', afterMs: REPLY_AFTER_MS };
        if (phase === 'ehlo') return { reply: '250 relay', afterMs: REPLY_AFTER_MS };
        if (phase !== 'dot' || !scene.slow) return undefined;
        return { reply: '250 2.0.0 at last', afterMs: SLOW_ANSWER_MS };
      },
      opened: (socket) => {
        scene.openedAt.push(performance.now());
        if (scene.cutting) setTimeout(() => socket.resetAndDestroy(), CUT_AFTER_MS).unref();
      },
    });
    stops.add(() => relay.stop());
    await startWorker(stops, url, { GHOST_SMTP_URL: `smtp://127.0.0.1:${relay.port}` });
    scene.slow = true;
    yield* slowAnswer(seed, relay);
    scene.slow = false;
    // The idle connection that is left would carry mails in the midst of the cuts.
    await waitUntil(() => relay.open() === 0, { timeoutMs: 30_000, what: 'no open connection' });
    yield* cutting(seed, relay, scene);
  });
}

async function* slowAnswer(seed: DeliverySeed, relay: ScriptedSmtp): AsyncGenerator<ProofRow> {
  const startedAt = performance.now();
  await seed.mails(['slow@slow.example']);
  await allDelivered(seed, 2 * SLOW_ANSWER_MS);
  const tookMs = performance.now() - startedAt;
  const attempts = await seed.attempts();
  const [job] = await seed.jobs();
  yield {
    what: '250 after 70 s: mails that came, tries, claims',
    figure: `${relay.came.length}, ${attempts.length}, ${job?.leaseNo}`,
    bound: '1, 1, 1',
    ok: relay.came.length === 1 && attempts.length === 1 && job?.leaseNo === 1,
  };
  yield {
    what: 'until it was delivered',
    figure: `${(tookMs / 1_000).toFixed(1)} s`,
    bound: '70–75 s',
    ok: tookMs >= SLOW_ANSWER_MS && tookMs <= SLOW_ANSWER_MS + 5_000,
  };
}

async function* cutting(
  seed: DeliverySeed,
  relay: ScriptedSmtp,
  scene: { cutting: boolean; openedAt: number[] },
): AsyncGenerator<ProofRow> {
  const before = relay.came.length;
  const addresses = Array.from({ length: MAILS }, (_, n) => `r${n}@d${n % DOMAINS}.example`);
  scene.cutting = true;
  const startedAt = performance.now();
  await seed.mails(addresses);
  await delay(CUTTING_FOR_MS);
  for (const minute of [0, 1]) {
    const from = startedAt + minute * MINUTE_MS;
    const opened = scene.openedAt.filter((at) => at >= from && at < from + MINUTE_MS).length;
    yield {
      what: `connections in minute ${minute + 1} of cuts ${CUT_AFTER_MS} ms after they opened`,
      figure: String(opened),
      bound: `1–${CONNECTIONS_BOUND}`,
      ok: opened >= 1 && opened <= CONNECTIONS_BOUND,
    };
  }
  const jobs = (await seed.jobs()).filter(({ status }) => status === 'pending');
  const charged = jobs.filter(({ attempts, tries }) => attempts + tries > 0).length;
  yield {
    what: 'mails that wait, and of them charged',
    figure: `${jobs.length}, ${charged}`,
    bound: `${MAILS}, 0`,
    ok: jobs.length === MAILS && charged === 0,
  };
  scene.cutting = false;
  progress('no more cuts');
  await allDelivered(seed, MENDED_WITHIN_MS);
  const came = relay.came.slice(before);
  yield {
    what: 'mails that came once the cuts ended, and of them different ones',
    figure: `${came.length}, ${new Set(came).size}`,
    bound: `${MAILS}, ${MAILS}`,
    ok: came.length === MAILS && new Set(came).size === MAILS,
  };
  const tries = (await seed.jobs()).filter((job) => job.tries !== 1).length;
  yield {
    what: 'mails with more than one try',
    figure: String(tries),
    bound: '0',
    ok: tries === 0,
  };
}

async function allDelivered(seed: DeliverySeed, timeoutMs: number): Promise<void> {
  await waitUntil(async () => (await seed.jobs()).every(({ status }) => status === 'delivered'), {
    ...{ timeoutMs, what: 'all mails to be delivered' },
  });
}
