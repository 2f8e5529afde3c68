import { confirmButton, linkPage } from '../mail-links/link-page.js';

/** Asks, as mail scanners follow every link: only the button's POST changes anything. */
export const CONFIRM_PAGE = linkPage(
  'Stop mails of this thread?',
  `<p>You will get no more mails of this thread. Other threads are not touched.</p>
${confirmButton('Stop these mails')}`,
);

export const DONE_PAGE = linkPage(
  'Done',
  '<p>You get no more mails of this thread. To follow it again, subscribe to it on Ghost.</p>',
);

export const UNKNOWN_LINK_PAGE = linkPage(
  'This link does not work',
  '<p>It may be cut or very old. Take the whole link from a newer mail of the thread.</p>',
);
