import { parseArgs } from 'node:util';

import { type ContenderName, NAMES } from './report/figures.js';

export interface Options {
  profile: boolean;
  /** Put chart and table into `docs`. */
  docs: boolean;
  rounds: number;
  jobs: number;
  hooks: number;
  lightSeconds: number;
  only: ContenderName[];
}

/** What can be told in less than five minutes on two cores. */
const QUICK = { rounds: 3, jobs: 40_000, hooks: 1_000, lightSeconds: 8 };
const FULL = { rounds: 7, jobs: 100_000, hooks: 2_000, lightSeconds: 30 };

export class OptionsError extends Error {}

/** @throws {OptionsError} with what to write instead */
export function readOptions(args: readonly string[]): Options {
  const { values } = parse(args);
  const size = values.full === true ? FULL : QUICK;
  const profile = values.profile === true;
  return {
    ...size,
    profile,
    docs: values.docs === true,
    rounds: profile ? 1 : wholeNumber('rounds', values.rounds, size.rounds, 1),
    jobs: wholeNumber('jobs', values.jobs, size.jobs, 1_000),
    lightSeconds: profile ? 0 : wholeNumber('light', values.light, size.lightSeconds, 1),
    only: profile ? ['ours'] : contenders(values.only),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        full: { type: 'boolean' },
        profile: { type: 'boolean' },
        docs: { type: 'boolean' },
        rounds: { type: 'string' },
        jobs: { type: 'string' },
        light: { type: 'string' },
        only: { type: 'string' },
      },
    });
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new OptionsError(`${message} See npm run bench -- --help.`, { cause });
  }
}

function wholeNumber(name: string, text: string | undefined, usual: number, least: number): number {
  if (text === undefined) return usual;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new OptionsError(`--${name} ${text}: give a whole number of at least ${least}.`);
}

function contenders(text: string | undefined): ContenderName[] {
  if (text === undefined) return [...NAMES];
  const asked = text.split(',').map((name) => name.trim());
  const unknown = asked.filter((name) => !NAMES.some((known) => known === name));
  if (unknown.length === 0) return NAMES.filter((name) => asked.includes(name));
  throw new OptionsError(`--only ${unknown.join(',')}: there are ${NAMES.join(', ')}.`);
}
