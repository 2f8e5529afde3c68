/** A line for whoever waits for a proof. */
export function progress(line: string): void {
  process.stderr.write(`  ${line}\n`);
}
