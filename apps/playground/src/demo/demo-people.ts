/** A demo account; the address is of the reserved domain `example.test`, so no mail can leave by it. */
export interface Person {
  login: string;
  name: string;
  email: string;
  admin?: boolean;
}

const person = (login: string, name: string, admin = false): Person => ({
  login,
  name,
  email: `${login}@example.test`,
  admin,
});

export const OWNER = 'ada';

export const PEOPLE: readonly Person[] = [
  person('ada', 'Ada Obi', true),
  person('brian', 'Brian "Bri" Murphy, Jr.'),
  person('chika', '近藤 千佳'),
  person('dmitri', 'Дмитрий Волков'),
  person('emeka', 'Emeka Eze'),
];

export interface DemoHook {
  /** Its path at the receiver, and the name of its secret. */
  name: string;
  events: readonly string[];
}

export interface DemoRepository {
  name: string;
  private: boolean;
  /** Who may use it besides the owner. */
  members: readonly string[];
  watchers: readonly string[];
  /** Asked for no mail from it. */
  ignoring: readonly string[];
  hooks: readonly DemoHook[];
}

export const REPOSITORIES: readonly DemoRepository[] = [
  {
    name: 'demo',
    private: false,
    members: ['brian'],
    watchers: ['ada', 'brian', 'chika', 'dmitri'],
    ignoring: ['emeka'],
    hooks: [
      { name: 'all-events', events: ['*'] },
      // Gets no comment: fan-out records why.
      { name: 'closed-threads', events: ['thread.closed'] },
    ],
  },
  {
    name: 'private-plans',
    private: true,
    members: ['brian', 'chika'],
    watchers: ['ada', 'brian'],
    ignoring: ['chika'],
    hooks: [{ name: 'private', events: ['comment.created', 'thread.opened'] }],
  },
];
