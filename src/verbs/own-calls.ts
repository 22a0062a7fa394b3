/**
 * own-calls.ts -- calls of goald in what goald says, so that a person can paste them and they work in the same home.
 *
 * Most messages come from rooms that do not know which home was named on the command line; its flag is put in here.
 */
import { resolve } from "node:path";

const VERBS =
  "up|down|restart|status|reload|install-service|doctor|run|resume|ps|attach|logs|show|say|goals|pause|stop|kill|approve|deny|rm|config|report|why|diff|restore|events|files|verify|memory|ingest";

/** From `goald` and a verb to the end of the line, the code or the clause. For words of ours: no text of a model or a file goes through here. */
const CALL = new RegExp(`\\bgoald (?:${VERBS})\\b[^\\n\`]*?(?=[\\n\`)]|, |; |\\.(?: |$)|$)`, "g");

/** `home`: the folder that was named, undefined for none. A text that speaks of --home itself is left as it is. */
export function callsFor(home: string | undefined, text: string): string {
  if (home === undefined || text.includes("--home")) return text;
  const flag = `--home ${quoteForShell(resolve(home))}`;
  return text.replace(CALL, (call) => `${call} ${flag}`);
}

export const quoteForShell = (text: string): string =>
  /[$`"\\!]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : `"${text}"`;
