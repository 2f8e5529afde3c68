/** Nothing may run, load or frame the page; its form may only answer to where it came from. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  // The token is in the URL.
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
} as const;

/** Asks, as mail scanners follow every link: only the button's POST changes anything. */
export const CONFIRM_PAGE = page(
  'Stop mails of this thread?',
  `<p>You will get no more mails of this thread. Other threads are not touched.</p>
<form method="post"><button type="submit">Stop these mails</button></form>`,
);

export const DONE_PAGE = page(
  'Done',
  '<p>You get no more mails of this thread. To follow it again, subscribe to it on Ghost.</p>',
);

export const UNKNOWN_LINK_PAGE = page(
  'This link does not work',
  '<p>It may be cut or very old. Take the whole link from a newer mail of the thread.</p>',
);

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Ghost</title>
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
}
