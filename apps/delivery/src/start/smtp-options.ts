import { rootCertificates } from 'node:tls';

import type { Settings } from '@ghost/settings';
import type { SMTPPoolOptions } from 'nodemailer';

/** Below the 5 min that relays wait, and short, as an idle process sends nothing. */
const IDLE_MS = 5_000;
const CONNECT_MS = 20_000;
/** Ours ends every stage sooner; this is for a timer that was lost. */
const SOCKET_MS = 12 * 60_000;

/** How the relay is talked to: a pool that never sends anything again by itself. */
export function smtpOptions(
  settings: Settings<'delivery'>,
  smtp: NonNullable<Settings<'delivery'>['smtp']>,
  connections: number,
): SMTPPoolOptions & { pool: true } {
  const { smtpTls, extraCa, dkim } = settings;
  return {
    pool: true,
    host: smtp.host,
    port: smtp.port,
    secure: smtp.secure,
    requireTLS: smtpTls === 'required' && !smtp.secure,
    ignoreTLS: smtpTls === 'off',
    opportunisticTLS: smtpTls === 'opportunistic',
    ...(smtp.user === null || smtp.pass === null
      ? {}
      : { auth: { user: smtp.user, pass: smtp.pass } }),
    ...(extraCa.length > 0 ? { tls: { ca: [...rootCertificates, ...extraCa] } } : {}),
    ...(dkim
      ? {
          dkim: {
            domainName: dkim.domain,
            keySelector: dkim.selector,
            privateKey: dkim.privateKey,
          },
        }
      : {}),
    maxConnections: connections,
    // The queue tries again, counted and with back-off; the pool never does.
    maxRequeues: 0,
    idleTimeout: IDLE_MS,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    dnsTimeout: CONNECT_MS / 2,
    socketTimeout: SOCKET_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}
