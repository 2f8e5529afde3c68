// What a refusal of a mail means, at RCPT and in a bounce alike.

/** Enhanced statuses (RFC 3463), without the class digit: the address is none, or no more. */
export const NO_SUCH_ADDRESS: readonly string[] = ['1.1', '1.3', '1.6', '1.10', '2.1'];
/** Too large for this reader or for the relay: nothing about the address. */
export const TOO_LARGE: readonly string[] = ['2.3', '3.4'];
/** The sender, so we, or our DNS; also where it is said of a recipient, as Postfix does unless it is told not to (`smtpd_delay_reject`). */
export const SENDER_REFUSED: readonly string[] = ['1.7', '1.8'];
/** Letters in it that a relay takes none of. */
export const ADDRESS_UNSENDABLE: readonly string[] = ['6.7'];

// The one place where text decides: block lists often answer with a bare 550 or a wrong status.
const REPUTATION_WORDING =
  /\b(?:SPF|DKIM|DMARC|DNSBL|RBL|SURBL|Spamhaus|SpamCop|Barracuda|Proofpoint|block ?list(?:ed)?|black ?list(?:ed)?|deny ?list(?:ed)?|poor reputation|bad reputation)\b/iu;

/** Whether a refusal speaks of what we are, whatever its status: our reputation or our set-up. */
export function speaksOfReputation(text: string): boolean {
  return REPUTATION_WORDING.test(withoutAddresses(text));
}

// Each is looked for once, from its beginning: a reply of 100 KB without a space took 30 s else.
const ADDRESS = /<[^<>]*>|(?<!\S)\S+@\S+/gu;

/** Replies repeat the recipient, who may be called spf@… */
export function withoutAddresses(text: string): string {
  return text.replaceAll(ADDRESS, ' ');
}
