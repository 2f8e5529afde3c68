/**
 * The time of one attempt. It is over when its work is done, at its deadline or when it is broken off,
 * whatever comes first; what is open then is cut off.
 */
export class Attempt {
  #over = false;
  #cut: (() => void) | undefined;
  #controller: AbortController | undefined;

  get over(): boolean {
    return this.#over;
  }

  /** For what takes a signal. Made when it is asked for: a connection that is used again needs none. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#over) this.#controller.abort('over');
    return this.#controller.signal;
  }

  /** What closes the thing that is open now; the next one takes its place. */
  cutBy(cut: (() => void) | undefined): void {
    this.#cut = cut;
    if (this.#over) cut?.();
  }

  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#cut?.();
    // With a reason of its own: without one Node makes an exception each time (2 % of the CPU, measured).
    this.#controller?.abort('over');
  }
}
