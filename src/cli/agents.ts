/** agents.ts -- reads the agents of a home, and what a person types for them. */
import type { Reading } from "#api/control.ts";
import type { HomeReading, HomeReadingOptions } from "#app/reading.ts";
import { printNote } from "#cli/terminal/print.ts";
import { GoaldError } from "#core/errors.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { systemClock } from "#util/clock.ts";
import { nearestName } from "#util/nearest-name.ts";
import { clean } from "#util/outside-text.ts";
import type { AgentView } from "#views/agent-view.ts";
import type { WaitingView } from "#views/waiting.ts";
import { type CliContext, callsHere, type GlobalOptions, openContext } from "./context.ts";
import { usageError } from "./verb.ts";

/** Runs a read-only verb. Needs no host and no lock. */
export async function reading<T>(
  options: GlobalOptions,
  look: (reading: Reading, context: CliContext) => Promise<T>,
): Promise<T> {
  using context = await openContext(options);
  return await withReading(context, (opened) => look(opened, context));
}

/** Prints problems to standard error, unless `options` has another way to report them. */
export async function withReading<T>(
  { home, settings }: CliContext,
  look: (reading: HomeReading) => Promise<T>,
  options: Partial<HomeReadingOptions> = {},
): Promise<T> {
  const { openReading } = await import("#app/reading.ts");
  const report = (problem: string): void => printNote(callsHere(home, problem));
  await using opened = await openReading(home, settings, { report, ...options });
  return await look(opened);
}

/** Returns the question that an agent waits with; null when it waits for another call or for nobody. */
export const loadQuestion = (context: CliContext, agent: string, callId: string): Promise<WaitingView | null> =>
  withReading(context, async (reading) => {
    const { waiting } = await reading.details(agent);
    return waiting?.callId === callId ? waiting : null;
  });

/** Throws this for a name that no agent has, with the ids that it may mean; returns the only id that begins with it. */
export async function findByPrefix(name: string, options: GlobalOptions, thrown: GoaldError): Promise<string> {
  const ids = await reading(options, async (opened) => (await opened.agents()).map(({ id }) => id));
  const meant = ids.filter((id) => name !== "" && id.startsWith(name.toLowerCase()));
  const [only, another] = meant;
  if (only !== undefined && another === undefined) {
    printNote(`Using ${only}.`);
    return only;
  }
  const near = nearestName(name, ids);
  const hint = another !== undefined ? `Several ids begin so: ${meant.join(", ")}` : near && `Did you mean ${near}?`;
  if (!hint) throw thrown;
  throw new GoaldError("GOALD_NOT_FOUND", thrown.message, { hint, cause: thrown });
}

/** True when the agent has work and a host runs it. */
export const isGoing = ({ state }: AgentView): boolean => state === "running" || state.startsWith("waiting");

/** Reads logs as the views do, page by page. */
export const logReader = (reading: Pick<Reading, "page">): Pick<StoreReader, "read"> => ({
  read: async (...range) => (await reading.page(...range)).events,
});

/** Looks until there is something to see; undefined when there was nothing after so many looks. */
export async function lookAgain<T>(
  { looks, everyMs }: { readonly looks: number; readonly everyMs: number },
  look: () => Promise<T | undefined>,
): Promise<T | undefined> {
  for (let left = looks; left > 0; left--) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await systemClock.sleep(everyMs);
  }
  return undefined;
}

/**
 * Repeats an action until Ctrl-C, which ends it without an error. The first call is immediate. Rejects when a call
 * fails. `leave`: ends it, too.
 */
export async function untilInterrupt(everyMs: number, act: () => Promise<void>, leave?: AbortSignal): Promise<void> {
  using interrupt = openInterrupt(["SIGINT", "SIGTERM"]);
  const ended = AbortSignal.any([interrupt.signal, ...(leave ? [leave] : [])]);
  while (!ended.aborted) {
    await act();
    await systemClock.sleep(everyMs, ended);
  }
}

/** Aborts its signal when one of these comes (default: Ctrl-C), which ends nothing else until this is disposed of. */
export function openInterrupt(names: readonly NodeJS.Signals[] = ["SIGINT"]) {
  const controller = new AbortController();
  const stop = (): void => controller.abort();
  for (const name of names) process.once(name, stop);
  const dispose = (): void => {
    for (const name of names) process.off(name, stop);
  };
  return { signal: controller.signal, [Symbol.dispose]: dispose };
}

/** Throws GOALD_USAGE for an empty or a longer text, and on a terminal, where goald would wait without a prompt. */
export async function readWords(
  words: readonly string[],
  { maxChars, what, examples, tooLong }: WordsWanted,
): Promise<string> {
  if (words.length === 0 && process.stdin.isTTY) throw usageError(`Expected a ${what}.`, examples);
  // Blanks around the text do not count.
  const text = clean(words.length > 0 ? words.join(" ") : await readInput(2 * maxChars)).trim();
  if (text === "") throw usageError(`The ${what} is empty.`, examples);
  if (text.length > maxChars) throw usageError(`Expected up to ${maxChars} characters, got ${text.length}.`, tooLong);
  return text;
}

interface WordsWanted {
  readonly maxChars: number;
  /** `text` or `message`. */
  readonly what: string;
  readonly examples: string;
  readonly tooLong: string;
}

/** Stops shortly after `maxChars`, so that the caller can reject a longer text. */
export async function readInput(maxChars: number): Promise<string> {
  let text = "";
  process.stdin.setEncoding("utf8");
  for await (const chunk of process.stdin) {
    text += chunk as string;
    if (text.length > maxChars) break;
  }
  return text;
}
