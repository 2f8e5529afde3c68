/** What the queue did and the model forbids. */
export class Objection extends Error {}

/** @throws {Objection} when something differs from what is expected of it */
export function expectSame<T extends object>(what: string, got: T, expected: Partial<T>): void {
  const differ = Object.entries(expected).filter(([key, value]) => got[key as keyof T] !== value);
  if (differ.length === 0) return;
  throw new Objection(`${what} is ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
}
