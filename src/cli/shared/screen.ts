/**
 * screen.ts -- an agent of another process on this terminal, or in this pipe, as if it ran here.
 */
import type { Client } from "#api/client.ts";
import { createLiveThoughts, loadWholeCatalogue } from "#app/catalogue.ts";
import { EXIT } from "#core/errors.ts";
import { type AgentState, isOver } from "#core/state.ts";
import { type AskPerson, createAskPerson, createAskWords } from "./ask-person.ts";
import { type CliContext, formatCall } from "./context.ts";
import { followAgent } from "./follow-agent.ts";
import { createPresenter, exitCodeOf, type Show, type Shown, sayEnd } from "./result.ts";

export interface Screen {
  readonly show: Show;
  /** undefined when there is nobody to ask. */
  readonly ask: AskPerson | undefined;
  readonly askWords: ReturnType<typeof createAskWords>;
}

/** What is known of the agent where following begins. */
export interface KnownOf {
  /** Number of the last event that is known. */
  readonly after: number;
  readonly state: AgentState;
}

/** `begun`: the calls that are open where it starts to show. */
export async function openScreen(context: CliContext, begun: AgentState["open"]): Promise<Screen> {
  const { output, home } = context;
  const asking = { ask: createAskPerson(context), askWords: createAskWords(context) };
  // Read from the start, so that what is typed before a question does not answer it.
  if (asking.ask) output.input();
  if (output.json) return { show: createPresenter(context, () => null, begun), ...asking };
  const { readReply } = await loadWholeCatalogue(home);
  return {
    show: createPresenter(
      context,
      (reply, finishReason) => readReply(reply, finishReason).thoughts,
      begun,
      createLiveThoughts,
    ),
    ...asking,
  };
}

/** Resolves to the exit code: that of the result, or 0 when the person left it to itself. */
export async function followOnScreen(
  agent: Shown,
  context: CliContext,
  client: Client,
  known: KnownOf,
  screen: Screen,
): Promise<number> {
  const { state, left } = await followAgent({ context, client, agent: agent.id, ...known, ...screen, isEnd: isOver });
  if (left) {
    sayGoesOn(agent, context, state.settings.background);
    return EXIT.ok;
  }
  return sayResult(agent, state, context);
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
