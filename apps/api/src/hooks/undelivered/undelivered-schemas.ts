import * as z from 'zod';

import { perPage, textCursorOf, uuidOf } from '../../http/page.js';

/** Of a list that is ordered by a time and an id; the time in microseconds, as the database keeps it. */
export interface PlaceInTime {
  micros: string;
  id: string;
}
/** Jobs are in the order in which a lane is walked: by version first. */
export interface PlaceOfJob extends PlaceInTime {
  version: string;
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const PLACE_IN_TIME = new RegExp(`^(\\d{1,17})/(${UUID})$`, 'u');
const PLACE_OF_JOB = new RegExp(`^(\\d{1,4})/(\\d{1,17})/(${UUID})$`, 'u');

export function writePlace({ micros, id }: PlaceInTime): string {
  return `${micros}/${id}`;
}

export function writePlaceOfJob({ version, micros, id }: PlaceOfJob): string {
  return `${version}/${micros}/${id}`;
}

export const waitingPage = z.strictObject({
  per_page: perPage,
  event_id: uuidOf('Only what is of this event').optional(),
  guid: uuidOf('Only this delivery').optional(),
  after: textCursorOf('waiting', (text): PlaceOfJob | null => {
    const [, version, micros, id] = PLACE_OF_JOB.exec(text) ?? [];
    if (version === undefined || micros === undefined || id === undefined) return null;
    return { version, micros, id };
  }),
});
export type WaitingPage = z.infer<typeof waitingPage>;

export const skippedPage = z.strictObject({
  per_page: perPage,
  event_id: uuidOf('Only this event').optional(),
  after: textCursorOf('skipped', (text): PlaceInTime | null => {
    const [, micros, id] = PLACE_IN_TIME.exec(text) ?? [];
    return micros === undefined || id === undefined ? null : { micros, id };
  }),
});
export type SkippedPage = z.infer<typeof skippedPage>;
