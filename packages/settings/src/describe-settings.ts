import { defaultOf, SETTINGS, type SettingName } from './settings-table.js';

export type SettingDescription = {
  name: SettingName;
  who: string;
  /** As typed; for the API and delivery apart where they differ; empty when there is none. */
  default: string;
  what: string;
};

/** Every setting with its meaning, in the order of the documentation. */
export function describeSettings(): SettingDescription[] {
  const names = Object.keys(SETTINGS) as SettingName[];
  return names.map((name) => {
    const [api, delivery] = [defaultOf(name, 'api') ?? '', defaultOf(name, 'delivery') ?? ''];
    const { who, what } = SETTINGS[name];
    return {
      name,
      who,
      what,
      default: api === delivery ? api : `API ${api}, delivery ${delivery}`,
    };
  });
}

/** The table of docs/operating.md. */
export function settingsMarkdown(): string {
  const rows = describeSettings().map(
    ({ name, who, default: value, what }) =>
      `| \`${name}\` | ${who} | ${value === '' ? '–' : `\`${value}\``} | ${what.replaceAll('|', '\\|')} |`,
  );
  return ['| variable | who | default | what |', '|---|---|---|---|', ...rows, ''].join('\n');
}

/** For `--help`: a name and its default in one line, its meaning below. */
export function settingsHelp(): string {
  return describeSettings()
    .map(({ name, who, default: value, what }) => {
      const head = value === '' ? `${name}  (${who})` : `${name}  (${who}; ${value})`;
      return `  ${head}\n      ${what}\n`;
    })
    .join('');
}
