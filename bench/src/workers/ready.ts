/** What a worker prints when it takes jobs. */
export const READY = 'bench worker is ready';

export function sayReady(): void {
  console.log(READY);
}

/** Ends in order at SIGTERM. */
export function stopBy(stop: () => Promise<unknown>): void {
  process.once('SIGTERM', () => {
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
}

/** @throws when the bench did not give it */
export function given(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set.`);
  return value;
}
