/** Ends a switch over a union: adding a state without handling it fails to compile. */
export function assertNever(value: never): never {
  throw new Error(`Unhandled state: ${JSON.stringify(value)}`);
}
