export {
  describeSettings,
  type SettingDescription,
  settingsHelp,
  settingsMarkdown,
} from './describe-settings.js';
export { EXIT } from './exit.js';
export type { ReadFile } from './judge-values.js';
export type { MailAddress, RelayRate } from './parse/mail.js';
export type { ServerUrl } from './parse/urls.js';
export { baseUrlOf, readSettings } from './read-settings.js';
export type { DkimKey, Settings } from './settings.js';
export { SettingsError, type SettingsFault } from './settings-error.js';
export {
  LEAST_RETENTION_DAYS,
  SETTINGS,
  type Setting,
  type SettingName,
  type Who,
} from './settings-table.js';
