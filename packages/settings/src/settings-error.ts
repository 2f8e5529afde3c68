import { EXIT } from './exit.js';

/** One thing wrong: the variable (with its value unless that is secret), what is wrong, what to do. */
export type SettingsFault = { name: string; problem: string; remedy: string };

/** Takes one fault: the three together read as a sentence and an advice. */
export type Report = (name: string, problem: string, remedy: string) => void;

/** Every fault of the environment at once. The message is for the terminal; exit with `exitCode`. */
export class SettingsError extends Error {
  readonly exitCode = EXIT.config;
  readonly faults: readonly SettingsFault[];

  constructor(faults: readonly SettingsFault[]) {
    const count = faults.length === 1 ? '1 setting is' : `${faults.length} settings are`;
    const lines = faults.map(({ name, problem, remedy }) => `  ${name} ${problem}. ${remedy}.`);
    super([`${count} wrong; nothing was started.`, ...lines].join('\n'));
    this.name = 'SettingsError';
    this.faults = faults;
  }
}
