import { type Html, html } from './html.js';

// Where a client heeds no style sheet the mail is plain, and reads as well.
const STYLE = [
  'body{margin:0;padding:16px;font:15px/1.5 -apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;color:#1f2328;background:#fff}',
  '.said{max-width:720px;overflow-wrap:break-word}',
  'pre,code{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px;background:#f4f5f7}',
  'pre{padding:12px;overflow-x:auto;white-space:pre-wrap}',
  'blockquote{margin:0;padding-left:12px;border-left:3px solid #d1d9e0;color:#59636e}',
  'table{border-collapse:collapse}td,th{border:1px solid #d1d9e0;padding:4px 8px}',
  '.foot{max-width:720px;margin-top:24px;padding-top:8px;border-top:1px solid #d1d9e0;color:#59636e;font-size:13px}',
].join('');

interface MailPage {
  title: string;
  said: Html;
  foot: Html;
}

/** The whole of a mail: what is said, and below it why it came and how to stop it. Loads nothing. */
export function mailPage({ title, said, foot }: MailPage): Html {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title><style>${[STYLE]}</style></head>
<body><div class="said" dir="auto">
${said}
</div><div class="foot">
${foot}
</div></body></html>
`;
}

/** A paragraph of our own words. */
export function paragraph(text: string): Html {
  return html`<p>${text}</p>`;
}

/** @param href - made by us: absolute, http or https */
export function link(href: string, label: string): Html {
  return html`<a href="${href}">${label}</a>`;
}
