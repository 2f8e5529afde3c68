import { type AddressPolicy, checkUrl, type UrlVerdict } from '@ghost/policy';

/** Judged URLs that are kept: a URL is parsed and judged once, not with each of its jobs. */
const KEPT = 2_000;

export type Target = Extract<UrlVerdict, { ok: true }> & {
  origin: string;
  /** Host and port, as the Host header has them. */
  authority: string;
  /** Path and query, as the request line has them. */
  path: string;
  /** Any certificate is taken. */
  insecure: boolean;
};
export type TargetVerdict = Target | Extract<UrlVerdict, { ok: false }>;

/** Where a hook's URL leads under one policy. The address behind a name is judged at each dial all the same. */
export function createTargets(
  policy: AddressPolicy,
): (url: string, insecure: boolean) => TargetVerdict {
  const judged = new Map<string, TargetVerdict>();
  return (url, insecure) => {
    const key = insecure ? `insecure ${url}` : url;
    const known = judged.get(key);
    if (known !== undefined) return known;
    const verdict = judge(url, insecure, policy);
    if (judged.size >= KEPT) {
      const [oldest] = judged.keys();
      if (oldest !== undefined) judged.delete(oldest);
    }
    judged.set(key, verdict);
    return verdict;
  };
}

function judge(url: string, insecure: boolean, policy: AddressPolicy): TargetVerdict {
  const verdict = checkUrl(url, policy);
  if (!verdict.ok) return verdict;
  const { origin, host, pathname, search } = new URL(verdict.url);
  return { ...verdict, origin, authority: host, path: pathname + search, insecure };
}
