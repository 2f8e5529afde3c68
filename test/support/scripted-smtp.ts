import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

import { type RawServer, startRawServer } from './raw-server.js';

const COMMANDS = {
  EHLO: 'ehlo',
  HELO: 'ehlo',
  STARTTLS: 'starttls',
  AUTH: 'auth',
  MAIL: 'mail',
  RCPT: 'rcpt',
  DATA: 'data',
} as const;

/** What the relay answers now; `content` are the first bytes of a mail, `dot` is its end. */
export type SmtpPhase = 'banner' | 'content' | 'dot' | (typeof COMMANDS)[keyof typeof COMMANDS];

export interface SmtpMoment {
  phase: SmtpPhase;
  /** The command as it came; empty for a banner and a dot. */
  line: string;
  /** Which connection it is, from 1. */
  connection: number;
  /** Whom the mail goes to, from RCPT on. */
  to: string;
  secure: boolean;
}

/** A reply of one or more lines; `silence`; `drop` with or without a reply before it; lines one by one. */
export type SmtpAnswer =
  | string
  | { silence: true }
  | { drop: true; after?: string }
  | { reply: string; afterMs: number }
  | { drip: readonly string[]; everyMs: number };

export interface ScriptedSmtp extends Pick<RawServer, 'port' | 'connections' | 'open' | 'stop'> {
  /** Whom each mail went to that came whole, in the order in which they came, whatever was answered then. */
  readonly came: readonly string[];
  /** Those of them that were answered 250. */
  readonly accepted: readonly string[];
  readonly moments: readonly SmtpMoment[];
}

export interface SmtpScript {
  /** Undefined: what a relay says that takes all. */
  answer: (moment: SmtpMoment) => SmtpAnswer | undefined;
  /** Each connection as it opens. */
  opened?: (socket: Socket) => void;
  /** Offers STARTTLS with it. */
  tls?: { key: string; cert: string };
  /** Offers this too; with PIPELINING the commands of a mail come at once, and each is answered in its turn. */
  offers?: readonly string[];
}

/** Starts an SMTP relay, byte by byte ours, that says in each phase what the script tells. */
export async function startScriptedSmtp({
  answer,
  opened,
  tls,
  offers = [],
}: SmtpScript): Promise<ScriptedSmtp> {
  const extensions = [...offers, 'AUTH PLAIN'];
  const came: string[] = [];
  const accepted: string[] = [];
  const moments: SmtpMoment[] = [];
  const server = await startRawServer((socket, connection) => {
    const session = new Session({
      ask: (moment) => {
        const at = { ...moment, connection };
        moments.push(at);
        if (at.phase === 'dot') came.push(at.to);
        const scripted = answer(at);
        if (at.phase === 'content') return scripted ?? { silence: true };
        const given =
          scripted ?? politely(at, [...(tls && !at.secure ? ['STARTTLS'] : []), ...extensions]);
        if (at.phase === 'dot' && says(given).startsWith('250')) accepted.push(at.to);
        return given;
      },
      tls,
    });
    opened?.(socket);
    session.begin(socket);
  });
  return { ...server, came, accepted, moments };
}

function politely({ phase, to }: SmtpMoment, extensions: readonly string[]): string {
  switch (phase) {
    case 'banner':
      return '220 relay';
    case 'ehlo':
      return ['relay', ...extensions]
        .map((line, index) => `250${index < extensions.length ? '-' : ' '}${line}`)
        .join('\r\n');
    case 'starttls':
      return extensions.includes('STARTTLS') ? '220 go on' : '502 5.5.1 Not implemented';
    case 'auth':
      return '235 2.7.0 Welcome';
    case 'data':
      return to === '' ? '554 5.5.1 No valid recipients' : '354 go on';
    case 'mail':
    case 'rcpt':
    case 'content':
    case 'dot':
      return '250 2.0.0 fine';
  }
}

function says(answer: SmtpAnswer): string {
  if (typeof answer === 'string') return answer;
  if ('reply' in answer) return answer.reply;
  if ('drip' in answer) return answer.drip.at(-1) ?? '';
  return ('after' in answer && answer.after) || '';
}

interface SessionOptions {
  ask: (moment: Omit<SmtpMoment, 'connection'>) => SmtpAnswer;
  tls: SmtpScript['tls'];
}

class Session {
  readonly #options: SessionOptions;
  #socket: Socket | undefined;
  #buffered = '';
  #inData: 'no' | 'begun' | 'on' = 'no';
  #secure = false;
  #to = '';
  /** It said nothing to a command, or ended the connection: what came with that command is not answered either. */
  #mute = false;
  /** The sender was refused: so is what came with it. */
  #refused = false;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  begin(socket: Socket): void {
    this.#listen(socket);
    this.#answer('banner', '');
  }

  #listen(socket: Socket): void {
    this.#socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      if (socket !== this.#socket) return;
      if (this.#inData === 'begun') {
        this.#inData = 'on';
        this.#answer('content', '');
        if (socket.destroyed) return;
      }
      this.#buffered += chunk.toString('latin1');
      this.#read();
    });
  }

  #read(): void {
    while (!this.#mute) {
      const end = this.#inData === 'no' ? '\r\n' : '\r\n.\r\n';
      const at = this.#buffered.indexOf(end);
      if (at === -1) return;
      const line = this.#buffered.slice(0, at);
      this.#buffered = this.#buffered.slice(at + end.length);
      if (this.#inData !== 'no') {
        this.#inData = 'no';
        this.#answer('dot', '');
      } else this.#command(line);
    }
  }

  #command(line: string): void {
    const verb = line.split(' ')[0]?.toUpperCase() ?? '';
    const phase = Object.entries(COMMANDS).find(([name]) => name === verb)?.[1];
    if (phase === 'mail') [this.#to, this.#refused] = ['', false];
    if (this.#refused && (phase === 'rcpt' || phase === 'data')) {
      this.#write('503 5.5.1 Sender first');
      return;
    }
    if (phase === 'rcpt') this.#to = /<([^>]*)>/u.exec(line)?.[1] ?? '';
    if (phase !== undefined) return this.#answer(phase, line);
    this.#write(verb === 'QUIT' ? '221 bye' : '250 fine');
    if (verb === 'QUIT') this.#socket?.end();
  }

  #answer(phase: SmtpPhase, line: string): void {
    const answer = this.#options.ask({ phase, line, to: this.#to, secure: this.#secure });
    if (phase === 'data') this.#inData = says(answer).startsWith('354') ? 'begun' : 'no';
    const refuses = /^[45]/u.test(says(answer));
    if (phase === 'mail') this.#refused = refuses;
    if (phase === 'rcpt' && refuses) this.#to = '';
    this.#mute =
      typeof answer === 'object' &&
      ('silence' in answer || 'drop' in answer) &&
      phase !== 'content';
    if (typeof answer === 'string') {
      this.#write(answer);
      if (phase === 'starttls' && answer.startsWith('220')) this.#secureNow();
    } else if ('reply' in answer) {
      setTimeout(() => this.#write(answer.reply), answer.afterMs).unref();
    } else if ('drip' in answer) {
      this.#drip(answer.drip, answer.everyMs);
    } else if ('drop' in answer) {
      if (answer.after === undefined) this.#socket?.destroy();
      else this.#socket?.end(`${answer.after}\r\n`);
    }
  }

  #drip([line, ...others]: readonly string[], everyMs: number): void {
    if (line === undefined || this.#socket?.destroyed) return;
    this.#write(line);
    setTimeout(() => this.#drip(others, everyMs), everyMs).unref();
  }

  #write(text: string): void {
    this.#socket?.write(`${text}\r\n`);
  }

  #secureNow(): void {
    const plain = this.#socket;
    const { tls } = this.#options;
    if (plain === undefined || tls === undefined) return;
    plain.removeAllListeners('data');
    const secured = new TLSSocket(plain, { isServer: true, ...tls });
    this.#secure = true;
    this.#buffered = '';
    this.#listen(secured);
  }
}
