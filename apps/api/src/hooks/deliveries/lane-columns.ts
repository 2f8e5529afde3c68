import { schema } from '@ghost/db';

const { deliveryLane: lane } = schema;

/** `LaneNow`, for a statement that joins a lane. Drizzle takes an object for absent when its first column is null. */
export const LANE_COLUMNS = {
  lane: lane.lane,
  heldReason: lane.heldReason,
  heldAt: lane.heldAt,
  notBefore: lane.notBefore,
  perMinute: lane.perMinute,
};
