/**
 * problems.ts -- what is wrong in a host: all of it for the log, of each agent and of the host itself the last for whoever asks.
 *
 * Where in the program an error came from is for the log alone: `goald status` is read by people.
 */
export interface Problems {
  /** `agent`: "" for the host itself. */
  tell(agent: string, problem: string): void;
  forget(agent: string): void;
  readonly all: readonly string[];
}

export interface ProblemsParts {
  readonly log: { warn(about: { readonly agent?: string }, text: string): void };
  /** Takes known secrets out of a text. */
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
