export * from './lane.js';
export * from './lanes-locked-error.js';
export { mailFault } from './postgres/mail-fault.js';
export * from './postgres/postgres-queue.js';
export { sqlOf, sqlOfClient, sqlOfPool } from './postgres/sql.js';
export * from './queue.js';
