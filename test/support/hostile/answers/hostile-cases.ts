import { BROKEN_OFF_ANSWERS } from './broken-off-answers.js';
import { CHUNKED_ANSWERS } from './chunked-answers.js';
import { ENDLESS_ANSWERS } from './endless-answers.js';
import type { HostileCase } from './hostile-case.js';
import { MALFORMED_ANSWERS } from './malformed-answers.js';
import { ODD_ANSWERS } from './odd-answers.js';
import { SILENT_ANSWERS } from './silent-answers.js';

/** Every way to answer that is known to have broken a sender, or that could. */
export const HOSTILE_CASES: readonly HostileCase[] = [
  ...SILENT_ANSWERS,
  ...ENDLESS_ANSWERS,
  ...MALFORMED_ANSWERS,
  ...CHUNKED_ANSWERS,
  ...BROKEN_OFF_ANSWERS,
  ...ODD_ANSWERS,
];
