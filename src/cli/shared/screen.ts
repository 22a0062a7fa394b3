/** screen.ts -- connects an agent to this terminal or pipe: its output and its questions. */
import { type Catalogue, createLiveThoughts, loadWholeCatalogue } from "#app/catalogue.ts";
import type { AgentState } from "#core/state.ts";
import { type AskPerson, type AskWords, createAskPerson, createAskWords } from "./ask-person.ts";
import { type CliContext, formatCall } from "./context.ts";
import { createPresenter, exitCodeOf, type Show, type Shown, sayEnd } from "./result.ts";

export interface Screen {
  readonly show: Show;
  /** undefined without an interactive terminal. */
  readonly ask: AskPerson | undefined;
  readonly askWords: AskWords | undefined;
}

/** The position in the log where following starts. */
export interface KnownOf {
  /** Number of the last known event. */
  readonly after: number;
  readonly state: AgentState;
}

/** `begun`: calls that are open when the output starts. `catalogue`: loaded here if absent. */
export async function openScreen(
  context: CliContext,
  begun: AgentState["open"],
  catalogue?: Pick<Catalogue, "readThoughts">,
): Promise<Screen> {
  const { output, home } = context;
  const asking = { ask: createAskPerson(context), askWords: createAskWords(context) };
  // Reads input from the start, so that a line typed before a question does not answer it.
  if (asking.ask) output.input();
  if (output.json) return { show: createPresenter(context, () => null, begun), ...asking };
  const { readThoughts } = catalogue ?? (await loadWholeCatalogue(home));
  return { show: createPresenter(context, readThoughts, begun, createLiveThoughts), ...asking };
}

export function sayResult(agent: Shown, state: AgentState, context: CliContext): number {
  const exitCode = exitCodeOf(state, false);
  sayEnd(agent, state, exitCode, context);
  return exitCode;
}

export function sayGoesOn({ id }: Shown, { output, home }: CliContext, background: boolean): void {
  output.say(`\n${id} goes on ${background ? "in the background" : "on its terminal"}.`);
  output.say(`Follow it: ${formatCall(home, "attach", id)}   Stop it: ${formatCall(home, "stop", id)}`);
}
