import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { verify as octokitVerify } from '@octokit/webhooks-methods';
import { inTransaction } from '@ghost/db';
import { lockHookById, rotateHookSecret } from '@ghost/operations';
import { sqlOf } from '@ghost/queue';
import { generateSecret, signWebhook, standardForm, verifyWebhook } from '@ghost/signing';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { Webhook as SvixWebhook } from 'svix';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';

import { type DeliverySeed, keyRing } from '../../../test/support/delivery-seed.js';
import {
  allDelivered,
  seededDatabase,
  startWorker,
} from '../../../test/support/delivery-worker.js';
import { docExample } from '../../../test/support/doc-example.js';
import { receiver } from '../../../test/support/servers-of-a-test.js';

const BODIES: readonly string[] = [
  JSON.stringify({ text: '🎉👩‍👩‍👧‍👦 日本語 中文 한국어' }),
  '{"text":"\u2028\u2029</script>e\u0301\\u2028"}',
  '{"big":9007199254740993,"one":1.0,"exp":1e400}',
  '{"a":1,"a":2, "b" : [ ] }',
];
const STALE_MS = 400_000;
/** 0.4 s, but for the first time on a machine: then Go compiles its own library. */
const GO_TIMEOUT_MS = 120_000;
const PLAIN = 'correct horse battery staple';

type Headers = Readonly<Record<string, string>>;

/** A request, and a secret that its receiver may have. */
interface Received {
  secret: string;
  headers: Headers;
  body: Buffer;
  /** That GitHub's one signature is made with this secret. */
  newest: boolean;
}

afterEach(() => void vi.useRealTimers());

/**
 * What receivers get of real deliveries: each body to a hook with a `whsec_` secret, to one with a plain secret, and to
 * one that is given a new secret while its jobs wait; each answered by an error first, so there is a retry of each.
 */
async function deliver(): Promise<Received[]> {
  const { databaseUrl, seed } = await seededDatabase();
  const seen = new Set<unknown>();
  const target = await receiver(({ headers }) => {
    const first = !seen.has(headers['x-ghost-delivery']);
    seen.add(headers['x-ghost-delivery']);
    return first ? 500 : 200;
  });
  const generated = generateSecret();
  const hooks = new Map<number, string[]>();
  for (const secrets of [[generated], [PLAIN], [PLAIN]]) {
    hooks.set(await seed.hook(target.url, { secrets }), secrets);
  }
  await seed.pool.query('UPDATE hook SET github_signature = true');
  const [, , rotating = 0] = [...hooks.keys()];
  for (const body of BODIES) await seed.webhooks([...hooks.keys()], { body });
  hooks.set(rotating, [await rotate(seed, rotating), PLAIN]);
  await startWorker(databaseUrl, { retryBaseMs: 20 });
  const requests = await target.waitForRequests(BODIES.length * hooks.size * 2);
  await allDelivered(seed);
  return requests.flatMap(({ headers, body }) =>
    (hooks.get(Number(headers['x-ghost-hook-id'])) ?? []).map((secret, index) => ({
      secret,
      headers: headers as Headers,
      body,
      newest: index === 0,
    })),
  );
}

let delivered: Promise<Received[]> | undefined;
/** Made once for all tests: they only look at it. */
const deliveries = () => (delivered ??= deliver());

async function rotate({ pool }: DeliverySeed, hookId: number): Promise<string> {
  const { generated } = await inTransaction(pool, async (tx) => {
    const { repository, ...hook } = await lockHookById(sqlOf(tx), hookId);
    const at = { hook, repository, actor: null, ring: keyRing() };
    return rotateHookSecret(tx, at, { secret: null, overlapHours: 24 });
  });
  if (generated === null) throw new Error('No secret was generated');
  return generated;
}

type Verifier = (received: Omit<Received, 'newest'>) => unknown;

/** Each throws, or is false, when it refuses. */
const STANDARD: Record<string, Verifier> = {
  standardwebhooks: ({ secret, headers, body }) =>
    new Webhook(standardForm(secret)).verify(body, headers),
  svix: ({ secret, headers, body }) =>
    new SvixWebhook(standardForm(secret)).verify(body, { ...headers }),
  stripe: ({ secret, headers, body }) =>
    Stripe.webhooks.constructEvent(body, headers['x-ghost-signature'] ?? '', secret),
  'ours, standard': (received) => verifyWebhook({ ...received, scheme: 'standard' }),
  'ours, ghost': (received) => verifyWebhook({ ...received, scheme: 'ghost' }),
};
const octokit: Verifier = ({ secret, headers, body }) =>
  octokitVerify(secret, body.toString(), headers['x-hub-signature-256'] ?? '');

async function accepts(verifier: Verifier, received: Received): Promise<boolean> {
  try {
    return (await verifier(received)) !== false;
  } catch {
    return false;
  }
}

/** The same with one byte of the body changed: a digit or a letter, so that it stays JSON. */
function changed(received: Received): Received {
  const body = Buffer.from(received.body);
  const at = body.lastIndexOf('"') - 1;
  body[at] = (body[at] ?? 0) ^ 1;
  return { ...received, body };
}
const otherSecret = (received: Received) => ({ ...received, secret: generateSecret() });

test('stock libraries accept every delivery: first tries, retries, and both secrets of a rotation', async () => {
  const all = await deliveries();
  expect(all).toHaveLength(BODIES.length * 2 * 4);
  expect(new Set(all.map(({ headers }) => headers['x-ghost-attempt']))).toEqual(
    new Set(['1', '2']),
  );
  for (const received of all) {
    for (const [name, verifier] of Object.entries({ ...STANDARD, octokit })) {
      const newest = name === 'octokit' ? received.newest : true;
      expect([name, await accepts(verifier, received)]).toEqual([name, newest]);
      expect([name, await accepts(verifier, changed(received))]).toEqual([name, false]);
      expect([name, await accepts(verifier, otherSecret(received))]).toEqual([name, false]);
    }
  }
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + STALE_MS });
  for (const received of all) {
    for (const [name, verifier] of Object.entries(STANDARD)) {
      expect([name, await accepts(verifier, received)]).toEqual([name, false]);
    }
  }
});

/** What the examples must accept, and what they must refuse. */
async function judged(): Promise<{ received: Received; good: boolean }[]> {
  const all = await deliveries();
  const [first] = all;
  if (first === undefined) throw new Error('Nothing was delivered');
  const stale = signWebhook({
    id: 'stale',
    timestamp: Math.floor((Date.now() - STALE_MS) / 1000),
    body: first.body,
    secrets: [first.secret],
  });
  const early = { ...first.headers, 'webhook-timestamp': '9999999999' };
  const good = all.map((received) => ({ received, good: true }));
  const bad = [
    ...all.slice(0, 4).flatMap((received) => [changed(received), otherSecret(received)]),
    { ...first, headers: stale },
    { ...first, headers: early },
  ];
  return [...good, ...bad.map((received) => ({ received, good: false }))];
}

function here(command: string, ...args: string[]): boolean {
  return spawnSync(command, args).status === 0;
}

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'ghost-example-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  return folder;
}

/** What a program says of cases, one a line. */
async function answersOf(
  [command, ...args]: readonly [string, ...string[]],
  cwd: string,
  cases: readonly { received: Received }[],
): Promise<string[]> {
  const env = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '' };
  const running = promisify(execFile)(command, args, { cwd, env });
  running.child.stdin?.end(asLines(cases));
  return (await running).stdout.trim().split('\n');
}

/** One case a line, as the drivers of the examples read it. */
function asLines(cases: readonly { received: Received }[]): string {
  return cases
    .map(({ received: { secret, headers, body } }) =>
      JSON.stringify({ secret, headers, body: body.toString('base64') }),
    )
    .join('\n');
}

const PYTHON_DRIVER = `
import base64, json, sys
from verify import verify
for line in sys.stdin:
    case = json.loads(line)
    try:
        verify(case["secret"], case["headers"], base64.b64decode(case["body"]))
        print("true")
    except ValueError:
        print("false")
`;

const GO_DRIVER = `package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"example/ghost"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var one struct {
			Secret  string
			Headers map[string]string
			Body    string
		}
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			panic(err)
		}
		body, err := base64.StdEncoding.DecodeString(one.Body)
		if err != nil {
			panic(err)
		}
		get := func(name string) string { return one.Headers[name] }
		fmt.Println(ghost.Verify(one.Secret, get, body, time.Now()) == nil)
	}
}
`;

test.runIf(here('python3', '--version'))('the example in Python verifies them too', async () => {
  const cases = await judged();
  const folder = folderWith({ 'verify.py': docExample('verify.py'), 'driver.py': PYTHON_DRIVER });
  expect(await answersOf(['python3', 'driver.py'], folder, cases)).toEqual(
    cases.map(({ good }) => String(good)),
  );
});

test.runIf(here('go', 'version'))(
  'the example in Go verifies them too',
  async () => {
    const cases = await judged();
    const folder = folderWith({ 'go.mod': 'module example\n\ngo 1.20\n', 'main.go': GO_DRIVER });
    mkdirSync(path.join(folder, 'ghost'));
    writeFileSync(path.join(folder, 'ghost', 'verify.go'), docExample('verify.go'));
    const answers = await answersOf(['go', 'run', '.'], folder, cases);
    expect(answers).toEqual(cases.map(({ good }) => String(good)));
  },
  GO_TIMEOUT_MS,
);

test.runIf(here('openssl', 'version'))('the example for a shell verifies them too', async () => {
  const cases = await judged();
  const script = docExample('verify.sh');
  // Of those that are good one of each body, first and last tries and secrets mixed: each takes six processes.
  const some = cases.filter(({ good }, index) => !good || index % 3 === 0);
  for (const { received, good } of some) {
    const { secret, headers, body } = received;
    const { status } = spawnSync('sh', ['-c', script], {
      input: body,
      env: {
        PATH: process.env['PATH'] ?? '',
        SECRET: secret,
        WEBHOOK_ID: headers['webhook-id'],
        WEBHOOK_TIMESTAMP: headers['webhook-timestamp'],
        WEBHOOK_SIGNATURE: headers['webhook-signature'],
      },
    });
    expect(status === 0).toBe(good);
  }
});
