/** How far back from its bound a text is cut at a line's end instead. */
const LINE_END_WITHIN = 0.25;

export interface CutText {
  text: string;
  /** Something of it was left out. */
  cut: boolean;
}

/** As much of a text as fits into so many bytes of UTF-8, cut at a line's end where one is near. */
export function cutText(text: string, mostBytes: number): CutText {
  // No text has fewer bytes than UTF-16 units.
  if (text.length <= mostBytes && Buffer.byteLength(text) <= mostBytes) return { text, cut: false };
  const { read } = new TextEncoder().encodeInto(
    text.slice(0, mostBytes),
    new Uint8Array(mostBytes),
  );
  const fits = text.slice(0, read);
  const lineEnd = fits.lastIndexOf('\n');
  const end = lineEnd >= read * (1 - LINE_END_WITHIN) ? lineEnd : read;
  return { text: fits.slice(0, end), cut: true };
}
