/** screen.ts -- how an agent is shown on this terminal or in this pipe, and how its person is asked. */
import { type Catalogue, createLiveThoughts, loadWholeCatalogue } from "#app/catalogue.ts";
import type { AgentState } from "#core/state.ts";
import { type AskPerson, type AskWords, createAskPerson, createAskWords } from "./ask-person.ts";
import { type CliContext, formatCall } from "./context.ts";
import { createPresenter, exitCodeOf, type Show, type Shown, sayEnd } from "./result.ts";

export interface Screen {
  readonly show: Show;
  /** undefined when there is nobody to ask. */
  readonly ask: AskPerson | undefined;
  readonly askWords: AskWords | undefined;
}

/** Where following begins. */
export interface KnownOf {
  /** Number of the last event that is known. */
  readonly after: number;
  readonly state: AgentState;
}

/** `begun`: the calls that are open where it starts to show. `catalogue`: loaded here unless given. */
export async function openScreen(
  context: CliContext,
  begun: AgentState["open"],
  catalogue?: Pick<Catalogue, "readReply">,
): Promise<Screen> {
  const { output, home } = context;
  const asking = { ask: createAskPerson(context), askWords: createAskWords(context) };
  // Reads from the start, so that a line typed before a question does not answer it.
  if (asking.ask) output.input();
  if (output.json) return { show: createPresenter(context, () => null, begun), ...asking };
  const { readReply } = catalogue ?? (await loadWholeCatalogue(home));
  const thoughtsOf = (reply: string, finishReason: string) => readReply(reply, finishReason).thoughts;
  return { show: createPresenter(context, thoughtsOf, begun, createLiveThoughts), ...asking };
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
