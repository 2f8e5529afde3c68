import { isIP } from 'node:net';

import type { MailContent } from '@ghost/contract';
import type { Settings } from '@ghost/settings';

const DEFAULT_NAME = 'Ghost';
const DEFAULT_USER = 'noreply';

export interface MailSender {
  /** What the installation is called, after the name of the person who acted. */
  name: string;
  /** The address that mails come from; the right side of their Message-IDs is its domain. */
  address: string;
  /** Base of links, without a slash at its end. */
  publicUrl: string;
}

/**
 * Who mails come from. Without GHOST_MAIL_FROM it is `noreply@` the host of the links: a mail is
 * fixed at fan-out, and delivery may be set up later.
 */
export function mailSender({
  mailFrom,
  publicUrl,
}: Pick<Settings, 'mailFrom' | 'publicUrl'>): MailSender {
  const name = mailFrom?.name ?? DEFAULT_NAME;
  if (mailFrom) return { name, address: mailFrom.address, publicUrl };
  const { hostname } = new URL(publicUrl);
  // An IPv6 host has brackets, and neither kind of address is a mail domain as it stands.
  const isAddress = hostname.startsWith('[') || isIP(hostname) !== 0;
  return { name, address: `${DEFAULT_USER}@${isAddress ? 'localhost' : hostname}`, publicUrl };
}

/** What every mail says of where it comes from, and when. */
export function sentBy(
  { name, address }: MailSender,
  at: Date,
): Pick<MailContent, 'envelopeFrom' | 'from' | 'date' | 'messageIdDomain'> {
  return {
    envelopeFrom: address,
    from: { name, address },
    date: at.toISOString(),
    messageIdDomain: address.slice(address.lastIndexOf('@') + 1),
  };
}
