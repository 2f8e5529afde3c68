import { confirmButton, linkPage } from '../mail-links/link-page.js';

/** Asks, as mail scanners follow every link: only a button's POST changes anything. */
export function confirmPage(token: string): string {
  return linkPage(
    'Stop mails of this thread?',
    `<p>You will get no more mails of this thread. Other threads are not touched.</p>
${confirmButton('Stop mails of this thread')}
<p>Or of all threads of this repository, also where somebody mentions you.</p>
${confirmButton('Stop mails of this repository', `${token}/repository`)}`,
  );
}

export const DONE_PAGE = linkPage(
  'Done',
  '<p>You get no more mails of this thread. To follow it again, subscribe to it on Ghost.</p>',
);

export const REPOSITORY_DONE_PAGE = linkPage(
  'Done',
  '<p>You get no more mails of this repository. To get them again, watch it on Ghost, or forget that you ignore it.</p>',
);

export const UNKNOWN_LINK_PAGE = linkPage(
  'This link does not work',
  '<p>It may be cut or very old. Take the whole link from a newer mail of the thread.</p>',
);
