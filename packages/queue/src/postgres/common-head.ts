type Head = Readonly<Record<string, string>>;

export interface PartedHeads {
  /** What all of them have, with the same values. */
  common: Head;
  /** What each has besides. */
  own: (Head | undefined)[];
}

/** Parts heads that are mostly the same, so that what is common is written and parsed once a batch. */
export function partHeads(heads: readonly (Head | undefined)[]): PartedHeads {
  const given = heads.filter((head) => head !== undefined);
  const [first, ...others] = given;
  const common: Record<string, string> = {};
  for (const name in first) {
    const value = first[name];
    if (value === undefined || name === '__proto__') continue;
    if (others.every((head) => head[name] === value)) common[name] = value;
  }
  return { common, own: heads.map((head) => head && without(head, common)) };
}

function without(head: Head, common: Head): Head {
  const own: Record<string, string> = {};
  for (const name in head) {
    if (!Object.hasOwn(common, name)) own[name] = head[name] ?? '';
  }
  return own;
}
