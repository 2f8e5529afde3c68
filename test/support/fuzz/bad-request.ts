import type { FuzzRequest } from './fuzz-world.js';

/** A request that is wrong on purpose. */
export interface BadRequest {
  readonly name: string;
  readonly request: FuzzRequest;
  /** What it must be answered with. */
  readonly status: readonly number[];
  readonly code?: string;
  /** One of the errors must name this field, or something in it. */
  readonly field?: string;
}
