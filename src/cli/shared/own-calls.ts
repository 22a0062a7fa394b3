/**
 * own-calls.ts -- completes the calls of goald in messages, so that a person can paste them and they work in the same home.
 *
 * Most code that writes a message does not know the home of the command line, nor how goald was started. `--home` and
 * `npx` are added here.
 */
import { resolve } from "node:path";
import { SUMMARIES } from "../summaries.ts";

/** Verbs that a person types in any home, so that messages name them without one. */
const HOMELESS: readonly string[] = ["init", "demo", "replay", "completion"];

const shown = Object.entries(SUMMARIES).flatMap(([name, { group }]) => (group === undefined ? [] : [name]));
const verbs = shown.filter((name) => !HOMELESS.includes(name)).join("|");

/** From `goald` and a verb to the end of the line, the code or the clause. Only for texts of goald's own. */
const CALL = new RegExp(`\\bgoald (?:${verbs})\\b[^\\n\`]*?(?=[\\n\`)]|, |; |\\.(?: |$)|$)`, "g");

/** `goald` before any verb. */
const NAME = new RegExp(`(?<!npx )\\bgoald (?=(?:${shown.join("|")}|help)\\b)`, "g");

/** Started by npx or `npm start`, as in a checkout, goald is not on the PATH: `npx goald`. */
export const ownName = ({ npm_command: by }: NodeJS.ProcessEnv = process.env): string =>
  by === "exec" || by === "start" ? "npx goald" : "goald";

/** `home`: the folder after --home, if any. A text that mentions --home keeps its calls as they are. */
export function callsFor(home: string | undefined, text: string, name = ownName()): string {
  const named = text.replace(NAME, `${name} `);
  if (home === undefined || text.includes("--home")) return named;
  const flag = `--home ${quoteForShell(resolve(home))}`;
  return named.replace(CALL, (call) => `${call} ${flag}`);
}

export const quoteForShell = (text: string): string =>
  /[$`"\\!]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : `"${text}"`;
