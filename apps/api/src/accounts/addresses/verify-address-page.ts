import { confirmButton, escapeHtml, linkPage } from '../../mail-links/link-page.js';

/** Names both: whoever does not know the account should not press the button. */
export function confirmPage(login: string, address: string): string {
  return linkPage(
    'Is this address yours?',
    `<p>The account <strong>${escapeHtml(login)}</strong> wants its mail at <strong>${escapeHtml(address)}</strong>. If that is not you, close this page.</p>
${confirmButton('Yes, it is mine')}`,
  );
}

export const VERIFIED_PAGE = linkPage(
  'Verified',
  '<p>The address is verified. Its account can make it the one where mail goes.</p>',
);

export const EXPIRED_LINK_PAGE = linkPage(
  'This link has expired',
  '<p>Add the address again for a new mail.</p>',
);

export const UNKNOWN_ADDRESS_PAGE = linkPage(
  'This link does not work',
  '<p>It may be cut, or the address was removed. Take the whole link from the newest mail.</p>',
);
