/** In SQL: a uuid v7 of the time `at`. */
export function uuidAt(at: string): string {
  return `overlay(gen_random_uuid()::text placing left(retention_first_id(${at})::text, 13) from 1)::uuid`;
}
