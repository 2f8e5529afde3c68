import type { FastifyReply } from 'fastify';

/** Beside those of every answer: nothing may run, load or frame the page; its form may only answer to where it came from. */
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  // The token is in the URL.
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex',
} as const;

/**
 * A page that the link of a mail leads to.
 * @param title - text
 * @param content - HTML; what people typed goes through {@link escapeHtml} first
 */
export function linkPage(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} – Ghost</title>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${content}
</main>
</body>
</html>
`;
}

/**
 * The only thing of a page that changes something: mail scanners follow every link, and press nothing.
 * @param label - text
 * @param action - where it posts, relative to the page; left out: to the page itself
 */
export function confirmButton(label: string, action?: string): string {
  const target = action === undefined ? '' : ` action="${escapeHtml(action)}"`;
  return `<form method="post"${target}><button type="submit">${escapeHtml(label)}</button></form>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text as HTML, also inside an attribute in quotes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/gu, (character) => ENTITIES[character] ?? character);
}

export function sendPage(reply: FastifyReply, status: number, page: string): void {
  void reply.status(status).headers(PAGE_HEADERS).send(page);
}
