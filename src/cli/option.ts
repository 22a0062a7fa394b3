/** option.ts -- the kinds of options and arguments that several verbs declare. */
import { InvalidArgumentError } from "commander";
import type { VerbArgument, VerbOption } from "./verb.ts";

export const AGENT: VerbArgument = { name: "<agent>", about: "id or name" };

/** Not given with --all. */
export const ANY_AGENT: VerbArgument = { name: "[agent]", about: "id or name" };

export const MEMORY_AGENT: VerbArgument = {
  name: "<agent>",
  about: "id or name; shared: the memory that all agents read",
};

export const MEMORY_ID: VerbArgument = {
  name: "<id>",
  about: "id as `list` shows it, such as foo/12, or 12 for short",
};

export const MEMORY_IDS: VerbArgument = {
  name: "<ids...>",
  about: "ids as `list` shows them, such as foo/12, or 12 for short",
};

/** An option without a value. */
export const flag = (flags: string, about: string): VerbOption<boolean> => ({ flags, about });

export const text = (flags: string, about: string): VerbOption<string> => ({ flags, about });

/** An option that may be repeated. */
export const texts = (flags: string, about: string): VerbOption<readonly string[]> => ({
  flags,
  about,
  parse: (value, before = []) => [...before, value],
});

export const value = <T>(flags: string, about: string, parse: (text: string) => T): VerbOption<T> => ({
  flags,
  about,
  parse: (given) => parse(given),
});

/** The number of a step. `first`: 0 also permits the time before the first step. */
export const step = (flags: string, about: string, first: 0 | 1 = 1): VerbOption<number> =>
  value(flags, about, (given) => {
    if (first === 0 && given === "0") return 0;
    if (/^[1-9]\d{0,8}$/.test(given)) return Number(given);
    throw new InvalidArgumentError(`Expected the number of a step, from ${first}.`);
  });

/** Options that name the pending command, so that an answer reaches no other one. */
export const CALL_OPTIONS = {
  step: step("--step <number>", "only if the pending command is that of this step"),
  call: text("--call <id>", "only if the pending command has this id, such as c12-2 for the second of step 12"),
} as const;

export function positiveInteger(given: string): number {
  if (/^[1-9]\d{0,8}$/.test(given)) return Number(given);
  throw new InvalidArgumentError("Expected a whole number from 1.");
}

function wholeSeconds(given: string): number {
  if (/^\d{1,5}$/.test(given)) return Number(given);
  throw new InvalidArgumentError("Expected whole seconds, from 0 to 99999.");
}

export const SHARED: VerbOption<boolean> = flag("--shared", "use the memory that all agents of this home read");

/** For verbs that act on every row that says the same. */
export const ONLY: VerbOption<boolean> = flag("--only", "change this row alone, not the rows that say the same");

/** Options of verbs that stop the daemon. */
export const STOP_OPTIONS = {
  timeout: {
    ...value(
      "-t, --timeout <seconds>",
      "wait this many seconds for the steps under way, then cut them off",
      wholeSeconds,
    ),
    default: 30,
  },
  kill: flag("--kill", "kill the daemon if it does not stop in time; durable work is not lost"),
} as const;
