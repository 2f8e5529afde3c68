/** So long a look-up keeps others waiting. It goes on after that; most answers come before. */
const PATIENCE_MS = 100;
/**
 * Look-ups of one kind that were begun and not waited for so long: two questions each. Bursts overflow the buffer of a
 * resolver's UDP socket (212 KB hold some 280 questions): behind 200 look-ups at once an innocent one waited for 3 s (measured).
 */
const AT_ONCE = 64;
/** Look-ups of names that went unanswered lately, under way at once. */
const SLOW_AT_ONCE = 32;
/**
 * While so many are under way unanswered, no new name is begun: c-ares asks again for all that are due at once, and with
 * 1,000 of them the event loop stood still for 25 to 100 ms (measured).
 */
const MOST_UNANSWERED = 512;
/** As many as attempts that a process may have in flight (GHOST_CONCURRENCY): more are not asked for. */
const MOST_WAITING = 10_000;
/** Names of each kind that are remembered; the one that was asked for longest ago is forgotten first. */
const REMEMBERED = 10_000;
/** Short: a name that is answered again is not to wait among those that are not. */
const SLOW_FOR_MS = 60_000;

/** Tells how a look-up went, beside what it found. */
export interface LookedUp<Found> {
  found: Found;
  /** Nobody answered. */
  unanswered: boolean;
}

interface LookUp<Found> {
  host: string;
  /** Who still waits for it. */
  wanted: number;
  found: Promise<Found>;
  settle: (found: Found) => void;
  fail: (error: unknown) => void;
}

/**
 * Look-ups by name, with limits of their own, so that names which are never answered take nothing from others. Those
 * that overlap are one. There are three rooms: for names that were answered when they were last asked for, for new ones,
 * and for those that were not answered; in the first two a look-up makes room for the next after 100 ms, answered or not.
 *
 * @param lookUp - asks for one name
 * @param tooMany - what is found when too many wait
 * @param now - milliseconds
 */
export class LookUpQueue<Found> {
  readonly #lookUp: (host: string) => Promise<LookedUp<Found>>;
  readonly #tooMany: Found;
  readonly #now: () => number;
  /** Waiting or under way. */
  readonly #byHost = new Map<string, LookUp<Found>>();
  readonly #proven = new Room<LookUp<Found>>(AT_ONCE);
  readonly #fresh = new Room<LookUp<Found>>(AT_ONCE);
  readonly #slow = new Room<LookUp<Found>>(SLOW_AT_ONCE);
  /** When each was answered, or not. */
  readonly #answeredNames = new Memory();
  readonly #slowNames = new Memory();

  constructor(
    lookUp: (host: string) => Promise<LookedUp<Found>>,
    tooMany: Found,
    now: () => number,
  ) {
    this.#lookUp = lookUp;
    this.#tooMany = tooMany;
    this.#now = now;
  }

  /** Look-ups that were begun and have not ended. */
  get underWay(): number {
    return this.#rooms.reduce((sum, { taken }) => sum + taken, 0);
  }

  get waiting(): number {
    return this.#rooms.reduce((sum, { waiting }) => sum + waiting.size, 0);
  }

  get #rooms(): Room<LookUp<Found>>[] {
    return [this.#proven, this.#fresh, this.#slow];
  }

  /** @param signal - aborted by who no longer wants to know; what nobody wants is not begun */
  async find(host: string, signal?: AbortSignal): Promise<Found> {
    const lookUp = this.#byHost.get(host) ?? this.#add(host);
    if (lookUp === undefined) return this.#tooMany;
    lookUp.wanted += 1;
    const leave = () => this.#leave(lookUp);
    signal?.addEventListener('abort', leave, { once: true });
    try {
      return await lookUp.found;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  /** Those that wait are not begun any more: they find what is found when too many wait. */
  close(): void {
    for (const room of this.#rooms) {
      for (const lookUp of room.waiting) {
        this.#byHost.delete(lookUp.host);
        lookUp.settle(this.#tooMany);
      }
      room.waiting.clear();
    }
  }

  #add(host: string): LookUp<Found> | undefined {
    const room = this.#roomFor(host);
    if (this.#isFull(room) && this.waiting >= MOST_WAITING) return undefined;
    let settle: LookUp<Found>['settle'] = () => undefined;
    let fail: LookUp<Found>['fail'] = () => undefined;
    const found = new Promise<Found>((resolve, reject) => {
      settle = resolve;
      fail = reject;
    });
    const lookUp = { host, wanted: 0, found, settle, fail };
    this.#byHost.set(host, lookUp);
    room.waiting.add(lookUp);
    this.#beginNext(room);
    return lookUp;
  }

  #leave(lookUp: LookUp<Found>): void {
    lookUp.wanted -= 1;
    if (lookUp.wanted > 0) return;
    if (!this.#rooms.some(({ waiting }) => waiting.delete(lookUp))) return;
    this.#byHost.delete(lookUp.host);
    lookUp.settle(this.#tooMany);
  }

  #beginNext(room: Room<LookUp<Found>>): void {
    for (const lookUp of room.waiting) {
      if (this.#isFull(room)) return;
      room.waiting.delete(lookUp);
      void this.#begin(lookUp, room);
    }
  }

  async #begin(lookUp: LookUp<Found>, begunIn: Room<LookUp<Found>>): Promise<void> {
    let room = begunIn;
    room.taken += 1;
    const impatient = setTimeout(() => {
      room = this.#moveOn(room);
    }, PATIENCE_MS);
    try {
      const { found, unanswered } = await this.#lookUp(lookUp.host);
      this.#remember(lookUp.host, unanswered);
      lookUp.settle(found);
    } catch (error) {
      lookUp.fail(error);
    }
    clearTimeout(impatient);
    this.#byHost.delete(lookUp.host);
    room.taken -= 1;
    this.#beginNext(room);
    if (room === this.#slow) this.#beginNext(this.#fresh);
  }

  #isFull(room: Room<LookUp<Found>>): boolean {
    return room.isFull || (room === this.#fresh && this.#slow.taken >= MOST_UNANSWERED);
  }

  /** The look-up goes on: among the slow ones it only counts, so that they begin no more beside it. */
  #moveOn(from: Room<LookUp<Found>>): Room<LookUp<Found>> {
    from.taken -= 1;
    this.#slow.taken += 1;
    this.#beginNext(from);
    return this.#slow;
  }

  #roomFor(host: string): Room<LookUp<Found>> {
    const slowSince = this.#slowNames.get(host);
    if (slowSince !== undefined && this.#now() - slowSince < SLOW_FOR_MS) return this.#slow;
    return this.#answeredNames.get(host) === undefined ? this.#fresh : this.#proven;
  }

  #remember(host: string, unanswered: boolean): void {
    const [is, isNot] = unanswered
      ? [this.#slowNames, this.#answeredNames]
      : [this.#answeredNames, this.#slowNames];
    is.set(host, this.#now());
    isNot.delete(host);
  }
}

/** Times by name; bounded: the name that was set longest ago is forgotten first. */
class Memory {
  readonly #times = new Map<string, number>();

  get(name: string): number | undefined {
    return this.#times.get(name);
  }

  set(name: string, time: number): void {
    // Anew: a map keeps the order in which its keys came.
    this.#times.delete(name);
    this.#times.set(name, time);
    if (this.#times.size <= REMEMBERED) return;
    const [oldest] = this.#times.keys();
    if (oldest !== undefined) this.#times.delete(oldest);
  }

  delete(name: string): void {
    this.#times.delete(name);
  }
}

class Room<Waiting> {
  readonly #places: number;
  /** First come, first served. */
  readonly waiting = new Set<Waiting>();
  taken = 0;

  constructor(places: number) {
    this.#places = places;
  }

  get isFull(): boolean {
    return this.taken >= this.#places;
  }
}
