export * from './database-error.js';
export * from './in-transaction.js';
export * from './listener.js';
export * from './may-read.js';
export * from './migrate.js';
export * from './pool.js';
export * from './publish-event.js';
export * as schema from './schema.js';
