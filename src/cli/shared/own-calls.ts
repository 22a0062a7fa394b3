/**
 * own-calls.ts -- calls of goald in what goald says, so that a person can paste them and they work in the same home.
 *
 * Most messages come from rooms that do not know which home was named on the command line, nor how goald was started;
 * the flag and `npx` are put in here.
 */
import { resolve } from "node:path";

const VERBS =
  "up|down|restart|status|reload|install-service|doctor|run|resume|ps|attach|logs|show|say|goals|pause|stop|kill|approve|deny|rm|config|report|why|diff|restore|events|files|verify|memory|ingest|fork|commands|new";

/** From `goald` and a verb to the end of the line, the code or the clause. For words of ours: no text of a model or a file goes through here. */
const CALL = new RegExp(`\\bgoald (?:${VERBS})\\b[^\\n\`]*?(?=[\\n\`)]|, |; |\\.(?: |$)|$)`, "g");

/** Its name alone, before any verb. */
const NAME = new RegExp(`(?<!npx )\\bgoald (?=(?:${VERBS}|init|demo|replay|help)\\b)`, "g");

/** How goald is called by a person who started it so: by npx or `npm start`, as in a checkout, it is not on the PATH. */
export const ownName = ({ npm_command: by }: NodeJS.ProcessEnv = process.env): string =>
  by === "exec" || by === "start" ? "npx goald" : "goald";

/** `home`: the folder that was named, undefined for none. A text that speaks of --home itself gets no more of it. */
export function callsFor(home: string | undefined, text: string, name = ownName()): string {
  const named = text.replace(NAME, `${name} `);
  if (home === undefined || text.includes("--home")) return named;
  const flag = `--home ${quoteForShell(resolve(home))}`;
  return named.replace(CALL, (call) => `${call} ${flag}`);
}

export const quoteForShell = (text: string): string =>
  /[$`"\\!]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : `"${text}"`;
