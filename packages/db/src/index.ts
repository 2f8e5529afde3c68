export * from './database-error.js';
export * from './listener.js';
export * from './migrate.js';
export * from './pool.js';
export * from './publish-event.js';
export * as schema from './schema.js';
