import { futileFilter, type HookFilter } from '@ghost/contract';

import { HookError } from './hook-error.js';

/**
 * Refuses filters that nothing could ever pass, among the events that the hook asks for.
 * @throws HookError `futile_filters`
 */
export function refuseFutileFilters({
  events,
  filters,
}: {
  events: readonly string[];
  filters: readonly HookFilter[];
}): void {
  const futile = futileFilter(filters, events);
  if (futile === null) return;
  const { index, message } = futile;
  const field = index === null ? 'filters' : `filters.${index}.field`;
  throw new HookError('futile_filters', message, [{ field, code: 'never_matches', message }]);
}
