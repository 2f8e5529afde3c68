/** What the receiver can be told to answer; `scripted` is what it does by itself. */
export const ANSWERS = ['scripted', '200', '500', '410', '302', 'slow', 'hang'] as const;
export type Answer = (typeof ANSWERS)[number];

/** Within delivery's deadline, and long enough to be seen waiting. */
export const SLOW_MS = 5000;
/** Where a 302 leads; nobody may ever ask for it. */
export const REDIRECT_PATH = '/elsewhere';

/** What each answer does, for the person who types it. */
export function explainAnswer(
  answer: Answer,
  { receiverUrl, deadlineMs }: { receiverUrl: string; deadlineMs: number },
): string {
  switch (answer) {
    case 'scripted':
      return 'verifies, then 200; every third delivery fails once';
    case '200':
      return 'ok';
    case '500':
      return 'fails; tried again, with growing pauses';
    case '410':
      return 'gone; what waits for the hook is held until: DATABASE_URL=… npx ghost lanes resume hook:ID';
    case '302':
      return `redirects to ${receiverUrl}${REDIRECT_PATH}, which is never followed`;
    case 'slow':
      return `200 after ${SLOW_MS / 1000} s`;
    case 'hang':
      return `never answers; delivery gives up after ${deadlineMs / 1000} s and tries again`;
    default:
      return answer satisfies never;
  }
}

/** What was told: for all hooks, and for single ones by their path. */
export interface Answers {
  of(path: string): Answer;
  /** Without a path: for all hooks, also those that were told something of their own. */
  tell(answer: Answer, path?: string): void;
  readonly forAll: Answer;
  readonly own: ReadonlyMap<string, Answer>;
}

export function createAnswers(): Answers {
  let forAll: Answer = 'scripted';
  const own = new Map<string, Answer>();
  return {
    get forAll() {
      return forAll;
    },
    own,
    of: (path) => own.get(path) ?? forAll,
    tell(answer, path) {
      if (path !== undefined) {
        own.set(path, answer);
        return;
      }
      forAll = answer;
      own.clear();
    },
  };
}

export function isAnswer(word: string): word is Answer {
  return ANSWERS.some((answer) => answer === word);
}
