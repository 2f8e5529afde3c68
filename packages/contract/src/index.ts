export * from './assert-never.js';
export * from './attempt-outcome.js';
export * from './delivery-job.js';
export * from './events.js';
export * from './header-names.js';
export * from './mail-content.js';
export * from './storable-text.js';
export * from './json-schema.js';
