/**
 * problems.ts -- logs all problems of a host, and keeps the last one of each agent and of the host for `goald status`.
 *
 * Stack traces are only in the log, because people read `goald status`.
 */
export interface Problems {
  /** `agent`: "" for the host itself. */
  tell(agent: string, problem: string): void;
  forget(agent: string): void;
  readonly all: readonly string[];
}

export interface ProblemsParts {
  readonly log: { warn(about: { readonly agent?: string }, text: string): void };
  /** Redacts known secrets. */
  redact(text: string): string;
}

const FRAMES = /\n\s+at /;

export function createProblems({ log, redact }: ProblemsParts): Problems {
  const last = new Map<string, string>();
  return {
    tell: (agent, problem) => {
      const text = redact(problem);
      const [said = ""] = text.split(FRAMES, 1);
      last.set(agent, agent ? `${agent}: ${said}` : said);
      log.warn(agent ? { agent } : {}, text);
    },
    forget: (agent) => void last.delete(agent),
    get all() {
      return [...last.values()];
    },
  };
}
