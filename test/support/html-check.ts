/** What may be in HTML that is safe: tags of the list with attributes of the list. */
const TAG =
  /^<\/?(?:a|b|blockquote|br|code|dd|del|details|dl|dt|em|h[1-6]|hr|i|ins|kbd|li|ol|p|pre|q|s|samp|span|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|ul|var)((?: (?:href|align|start)="[^"<>]*")*)(?: \/)?>$/u;
/** Each URL is of a known scheme. */
const HREF = / href="(?!https?:\/\/|mailto:)/u;

/** The tags in the HTML of what a person wrote that should not be there; they need not even end. */
export function unsafeTags(html: string): string[] {
  const tags = [...html.matchAll(/<[^>]*>?/gu)].map(([tag]) => tag);
  return tags.filter((tag) => !TAG.test(tag) || HREF.test(tag));
}
