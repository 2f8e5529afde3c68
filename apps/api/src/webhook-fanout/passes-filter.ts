import {
  assertNever,
  conditionOf,
  FILTER_FIELDS,
  type FilterOperator,
  type FilterValue,
  type HookFilter,
} from '@ghost/contract';

interface Field {
  path: readonly string[];
  withoutCase: boolean;
}

/** By name, and a map: no name leads to what every object inherits. */
const FIELDS: ReadonlyMap<string, Field> = new Map(
  Object.entries(FILTER_FIELDS).map(([name, kind]) => [
    name,
    { path: name.split('.'), withoutCase: kind === 'login' },
  ]),
);

/** The first filter that an event does not pass; null when it passes them all. */
export function failedFilter(filters: readonly HookFilter[], payload: unknown): HookFilter | null {
  return filters.find((filter) => !passesFilter(filter, payload)) ?? null;
}

/**
 * Whether an event passes one filter. One without the field does not, whatever is asked of it; nor does any
 * pass what a newer version wrote and this one does not know: too little is sent rather than too much.
 */
export function passesFilter(filter: HookFilter, payload: unknown): boolean {
  const field = FIELDS.get(filter.field);
  const condition = conditionOf(filter);
  if (field === undefined || condition === null) return false;
  const given = valueAt(payload, field.path);
  if (given === undefined) return false;
  const { operator, values } = condition;
  if (!field.withoutCase) return compare(operator, given, values);
  return compare(operator, lowered(given), values.map(lowered));
}

function compare(
  operator: FilterOperator,
  given: FilterValue,
  values: readonly FilterValue[],
): boolean {
  switch (operator) {
    case 'is':
      return values.includes(given);
    case 'is_not':
      return !values.includes(given);
    case 'starts_with':
      return values.some((value) => String(given).startsWith(String(value)));
    case 'contains':
      return values.some((value) => String(given).includes(String(value)));
    default:
      return assertNever(operator);
  }
}

function lowered(value: FilterValue): FilterValue {
  return typeof value === 'string' ? value.toLowerCase() : value;
}

/** Own properties alone; undefined where there is no text, number, true or false. */
function valueAt(payload: unknown, path: readonly string[]): FilterValue | undefined {
  let at = payload;
  for (const step of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = Reflect.get(at, step);
  }
  const isScalar = typeof at === 'string' || typeof at === 'number' || typeof at === 'boolean';
  return isScalar ? (at as FilterValue) : undefined;
}
