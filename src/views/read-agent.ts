/** read-agent.ts -- finds an agent and folds its log, reads the log in pages, and opens its long texts. */
import { GoaldError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import type { GoalCheck } from "#core/goal-check.ts";
import { opensTurn } from "#core/inbox.ts";
import type { AgentRow, StoreReader } from "#core/ports/store.ts";
import { type AgentState, initialState, isFinished, STATE_VERSION } from "#core/state.ts";
import { restoreValue, type Text } from "#core/text.ts";
import { bySeq, readPages } from "#util/read-pages.ts";
import { count, described, flag, listOf, open, type Static, text, typed } from "#util/schema.ts";

/**
 * By id, else by name: the newest agent of that name that a person started, else the newest. Throws GOALD_NOT_FOUND, whose
 * hint lists known ids.
 */
export async function findAgent(reader: Pick<StoreReader, "agents" | "agent">, name: string): Promise<AgentRow> {
  const byId = await reader.agent(name);
  if (byId) return byId;
  const all = await reader.agents();
  const namesakes = namesakesOf(name, all);
  const byName = namesakes.findLast(({ parent }) => parent === null) ?? namesakes.at(-1);
  if (byName) return byName;
  const known = all.map((row) => row.id).slice(-10);
  const are = all.length > known.length ? "The newest are" : "There are";
  const hint = known.length > 0 ? `${are}: ${known.join(", ")}.` : "There are none yet. Create one: goald run";
  throw new GoaldError(
    "GOALD_NOT_FOUND",
    `Expected the id or name of an agent, found none called ${JSON.stringify(name)}.`,
    { hint },
  );
}

/** `at`: number of the last event to fold. Throws GOALD_STORE_DAMAGED for a log that cannot be read. */
export const stateOf = async (...log: Parameters<typeof foldLog>): Promise<AgentState> => (await foldLog(...log)).state;

/** `head`: number of the last event in the state. `at`: of the last event to fold. */
export async function foldLog(reader: Pick<StoreReader, "load">, { id }: Pick<AgentRow, "id">, at?: number) {
  const { head, snapshot, events } = await reader.load(id, STATE_VERSION, at);
  return { head, state: replay(events, (snapshot?.state as AgentState | undefined) ?? initialState) };
}

/** An agent with its folded state: for programs that follow its log from there. */
export const LoadedAgent = open({
  row: typed<AgentRow>({ type: "object" }),
  head: described(count, "Number of the last event in the state."),
  stateVersion: described(count, "The shape of `state` depends on it."),
  state: typed<AgentState>({ type: "object" }),
  namesakes: described(listOf(text), "Ids of all agents with this name, the oldest first."),
  hasTurnWaiting: described(flag, "A finished agent has unread words or goals, which begin its next turn."),
});
export type LoadedAgent = Static<typeof LoadedAgent>;

/** By id or name. Throws GOALD_NOT_FOUND, and GOALD_STORE_DAMAGED for a log that cannot be read. */
export async function loadAgent(
  reader: Pick<StoreReader, "agents" | "agent" | "load" | "inbox">,
  name: string,
): Promise<LoadedAgent> {
  const row = await findAgent(reader, name);
  const namesakes = row.id === name ? [row.id] : namesakesOf(name, await reader.agents()).map(({ id }) => id);
  const unread = await reader.inbox(row.id);
  const folded = await foldLog(reader, row);
  const hasTurnWaiting = isFinished(folded.state) && unread.some(({ message }) => opensTurn(message));
  return { row, ...folded, stateVersion: STATE_VERSION, namesakes, hasTurnWaiting };
}

const namesakesOf = (name: string, rows: readonly AgentRow[]): readonly AgentRow[] =>
  rows.filter((row) => row.name.toLowerCase() === name.toLowerCase());

/** The agent's goals with those that it has not read yet. */
export const GoalsView = open({
  agent: text,
  goals: listOf(text),
  checks: described(listOf(typed<GoalCheck>({ type: "object" })), "As they were given with the goals."),
  isRead: described(flag, "False when the agent reads these goals only in its next step."),
});
export type GoalsView = Static<typeof GoalsView>;

/** Reads the inbox first: a message that is consumed meanwhile is in the log then. */
export async function loadGoals(row: AgentRow, reader: Pick<StoreReader, "inbox" | "load">): Promise<GoalsView> {
  const pending = (await reader.inbox(row.id)).findLast(({ message }) => message.type === "goals")?.message;
  const { goals, checks = [] } = pending?.type === "goals" ? pending : await stateOf(reader, row);
  return { agent: row.id, goals, checks, isRead: pending === undefined };
}

/** All agents below this one, parents first. */
export async function descendantsOf(id: string, reader: Pick<StoreReader, "agents">): Promise<readonly AgentRow[]> {
  const found = new Set([id]);
  // Rows are ordered by age, and a parent is older than its children.
  return (await reader.agents()).filter(
    ({ id: own, parent }) => parent !== null && found.has(parent) && found.add(own),
  );
}

const PAGE = 500;

/** All events with seq > `after`, oldest first. */
export async function* allEvents(
  reader: Pick<StoreReader, "read">,
  agent: string,
  after = 0,
): AsyncGenerator<RecordedEvent> {
  const read = (last: number, limit: number) => reader.read(agent, last, limit);
  for await (const page of readPages(read, bySeq, { limit: PAGE, after })) yield* page;
}

/** Events that are read first to find a request: a step without nested work has six. Each further read takes twice as many. */
const NEAR = 8;

/**
 * The number of the agent's last request before a step, after which all of the step is; 0 when there is none. Requests of
 * sub-tasks do not count: their steps are within one of the agent. Halves the log, so it reads few events at any age.
 */
export async function findBefore(
  step: number,
  { id, head }: Pick<AgentRow, "id" | "head">,
  reader: Pick<StoreReader, "read">,
): Promise<number> {
  const requestsIn = async (after: number, until: number) =>
    (await reader.read(id, after, until - after)).filter(isOwnRequest);
  const firstAfter = async (after: number, until: number) => {
    for (let from = after, count = NEAR; from < until; from += count, count *= 2) {
      const [first] = await requestsIn(from, Math.min(until, from + count));
      if (first) return first;
    }
    return undefined;
  };
  let [before, end] = [0, head];
  while (end - before > NEAR) {
    const middle = Math.floor((before + end) / 2);
    const request = await firstAfter(middle, end);
    if (request && request.step < step) before = request.seq;
    else end = middle;
  }
  const last = (await requestsIn(before, end)).findLast((request) => request.step < step);
  return last?.seq ?? before;
}

const isOwnRequest = (event: RecordedEvent): event is Extract<RecordedEvent, { readonly type: "model-asked" }> =>
  event.type === "model-asked" && event.frame === 0;

/** All events up to `head`, newest first. */
export async function* eventsBackward(
  reader: Pick<StoreReader, "read">,
  agent: string,
  head: number,
): AsyncGenerator<RecordedEvent> {
  for (let end = head; end > 0; ) {
    const start = Math.max(0, end - PAGE);
    yield* (await reader.read(agent, start, end - start)).toReversed();
    end = start;
  }
}

/** Replaces each reference to a long text by the text. A text that is missing from the store stays a reference. */
export const openTexts = (value: unknown, store: Pick<StoreReader, "blob">): Promise<unknown> =>
  restoreValue(value, async ({ blob }) => {
    const bytes = await store.blob(blob);
    return bytes && Buffer.from(bytes).toString("utf8");
  });

/** For people: names a text that is missing from the store. */
export const wholeText = (text: Text): string =>
  typeof text === "string" ? text : `${text.head}\n[… of ${text.bytes} bytes; the rest is missing from the store]`;
