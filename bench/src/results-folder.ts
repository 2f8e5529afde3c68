import path from 'node:path';

/** Where each run leaves its figures; not under version control. */
export const RESULTS = path.resolve(import.meta.dirname, '../results');
