/**
 * screen.ts -- an agent of another process on this terminal, or in this pipe, as if it ran here.
 */
import type { Client } from "#client/client.ts";
import { EXIT } from "#core/errors.ts";
import { type AgentState, isOver } from "#core/state.ts";
import { createLiveThoughts, loadWholeCatalogue } from "../main-catalogue.ts";
import { type AskPerson, createAskPerson, createAskWords } from "./ask-person.ts";
import { followAgent } from "./follow-agent.ts";
import { again, type House } from "./house.ts";
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
export async function openScreen(house: House, begun: AgentState["open"]): Promise<Screen> {
  const { talk, home } = house;
  const asking = { ask: createAskPerson(house), askWords: createAskWords(house) };
  // Read from the start, so that what is typed before a question does not answer it.
  if (asking.ask) talk.input();
  if (talk.json) return { show: createPresenter(house, () => null, begun), ...asking };
  const { readReply } = await loadWholeCatalogue(home);
  return {
    show: createPresenter(
      house,
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
  house: House,
  client: Client,
  known: KnownOf,
  screen: Screen,
): Promise<number> {
  const { state, left } = await followAgent({ house, client, agent: agent.id, ...known, ...screen, isEnd: isOver });
  if (left) {
    sayGoesOn(agent, house, state.settings.background);
    return EXIT.ok;
  }
  return sayResult(agent, state, house);
}

export function sayResult(agent: Shown, state: AgentState, house: House): number {
  const exitCode = exitCodeOf(state, false);
  sayEnd(agent, state, exitCode, house);
  return exitCode;
}

export function sayGoesOn({ id }: Shown, { talk, home }: House, background: boolean): void {
  talk.say(`\n${id} goes on ${background ? "in the background" : "on its terminal"}.`);
  talk.say(`Follow it: ${again(home, "attach", id)}   Stop it: ${again(home, "stop", id)}`);
}
