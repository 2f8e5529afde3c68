const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [LIST, LIST_END] = [0x5b, 0x5d];
const [OBJECT, OBJECT_END] = [0x7b, 0x7d];

/**
 * Whether lists and objects stand in one another deeper than `max`, in JSON as UTF-8. Reads bytes once and
 * no further than needed: V8 parses 1 MiB of open lists for 100 ms, this sees them in no time.
 */
export function isDeeperThan(json: Uint8Array, max: number): boolean {
  if (json.length <= max) return false;
  let depth = 0;
  let inText = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (inText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inText = false;
    } else if (byte === QUOTE) {
      inText = true;
    } else if (byte === LIST || byte === OBJECT) {
      depth += 1;
      if (depth > max) return true;
    } else if (byte === LIST_END || byte === OBJECT_END) {
      depth -= 1;
    }
  }
  return false;
}
