/**
 * own-calls.ts -- completes the goald calls in messages, so that a pasted call works for the same home.
 *
 * Code that writes a message does not have the home of the command line, nor the way goald was started. This file adds
 * `--home` and `npx`.
 */
import { resolve } from "node:path";
import { SUMMARIES, VERB_NAMES } from "../verb-list.ts";

/** Verbs that need no home; messages name them without --home. */
const HOMELESS: readonly string[] = ["init", "demo", "replay", "completion"];

const shown = VERB_NAMES.filter((name) => SUMMARIES[name].group !== undefined);
const verbs = shown.filter((name) => !HOMELESS.includes(name)).join("|");

/** Matches from `goald` and a verb to the end of the line, code or clause. Use it only for goald's own texts. */
const CALL = new RegExp(`\\bgoald (?:${verbs})\\b[^\\n\`]*?(?=[\\n\`)]|, |; |\\.(?: |$)|$)`, "g");

/** Matches `goald` before any verb. */
const NAME = new RegExp(`(?<!npx )\\bgoald (?=(?:${shown.join("|")}|help)\\b)`, "g");

/** Returns `npx goald` when npx or npm started goald, because then it may not be on the PATH. */
export const ownName = ({ npm_command: by }: NodeJS.ProcessEnv = process.env): string =>
  by === "exec" || by === "start" ? "npx goald" : "goald";

/** `home`: the folder after --home, if any. Texts that mention --home stay unchanged. */
export function callsFor(home: string | undefined, text: string, name = ownName()): string {
  const named = text.replace(NAME, `${name} `);
  if (home === undefined || text.includes("--home")) return named;
  const flag = `--home ${quoteForShell(resolve(home))}`;
  return named.replace(CALL, (call) => `${call} ${flag}`);
}

export const quoteForShell = (text: string): string =>
  /[$`"\\!]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : `"${text}"`;
