import { parseUrl } from '@ghost/policy';

import { type Parse, type Parsed, parsed, problem } from './parsed.js';

/** A server with credentials, taken apart and percent-decoded; `host` has no brackets. */
export type ServerUrl = {
  host: string;
  port: number;
  /** TLS from the first byte. */
  secure: boolean;
  user: string | null;
  pass: string | null;
};

const NOT_A_URL = 'is not a URL; percent-encode characters such as # / @ : in user and password';

/** A connection string of Postgres; kept as it is for the driver. */
export const postgresUrl: Parse<string> = (text) => {
  const url = urlOf(text);
  if (url === null) return problem(NOT_A_URL);
  if (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:') {
    return problem('does not start with postgres://');
  }
  if (credentialsOf(url) === null)
    return problem('has a % that encodes nothing in user or password');
  return parsed(text);
};

/** RFC 6409 and 8314: submission on 587 with STARTTLS, on 465 with TLS from the start. */
export const smtpUrl: Parse<ServerUrl> = (text) =>
  serverUrl(text, { plain: ['smtp:', 587], secure: ['smtps:', 465] });

/** A forward proxy for webhooks. */
export const proxyUrl: Parse<ServerUrl> = (text) =>
  serverUrl(text, { plain: ['http:', 80], secure: ['https:', 443] });

/** The base of links: without a slash at the end, so that paths can follow. */
export const baseUrl: Parse<string> = (text) => {
  const url = webUrlOf(text);
  if (!url.ok) return url;
  if (url.value.search !== '') return problem('has a query; links are made by adding paths');
  return parsed(url.value.href.replace(/\/+$/, ''));
};

/** Where the API posts its wake-up; without a path it is delivery's own `/wake`. */
export const wakeUrl: Parse<string> = (text) => {
  const url = webUrlOf(text);
  if (!url.ok) return url;
  if (url.value.pathname === '/') url.value.pathname = '/wake';
  return parsed(url.value.href);
};

type Schemes = Record<'plain' | 'secure', readonly [protocol: string, port: number]>;

function serverUrl(text: string, { plain, secure }: Schemes): Parsed<ServerUrl> {
  const url = urlOf(text);
  if (url === null) return problem(NOT_A_URL);
  const scheme = [plain, secure].find(([protocol]) => protocol === url.protocol);
  if (scheme === undefined) return problem(`starts with neither ${plain[0]}// nor ${secure[0]}//`);
  if (url.hostname === '') return problem('names no host');
  if (!['', '/'].includes(url.pathname) || url.search !== '' || url.hash !== '') {
    return problem('has a path, query or fragment, which mean nothing here');
  }
  const port = url.port === '' ? scheme[1] : Number(url.port);
  if (port === 0) return problem('names port 0');
  const credentials = credentialsOf(url);
  if (credentials === null) return problem('has a % that encodes nothing in user or password');
  if ((credentials.user === null) !== (credentials.pass === null)) {
    return problem('has a user without a password, or the other way round');
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return parsed({ host, port, secure: scheme === secure, ...credentials });
}

function webUrlOf(text: string): Parsed<URL> {
  const url = urlOf(text);
  if (url === null) return problem('is not a URL');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return problem('starts with neither http:// nor https://');
  }
  if (url.username !== '' || url.password !== '') return problem('has a user or password in it');
  if (url.hash !== '') return problem('has a fragment');
  return parsed(url);
}

/** The parser would drop blanks and line breaks: a value with some was pasted wrongly. */
function urlOf(text: string): URL | null {
  return /\s/.test(text) ? null : parseUrl(text);
}

function credentialsOf(url: URL): { user: string | null; pass: string | null } | null {
  try {
    const [user, pass] = [url.username, url.password].map(decodeURIComponent);
    return { user: user || null, pass: pass || null };
  } catch {
    return null;
  }
}
