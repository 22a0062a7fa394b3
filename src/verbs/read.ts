/**
 * read.ts -- the verbs that only look: ps, show, events, files, verify. They need no host lock and change nothing.
 */
import { join } from "node:path";
import { EXIT, GoaldError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import type { AgentRow, StoreReader } from "#core/ports.ts";
import { type AgentState, activeFrame, initialState, STATE_VERSION } from "#core/state.ts";
import { oneLine } from "#core/text.ts";
import { isHostHeld } from "#store/host-lock.ts";
import { openSqliteReader } from "#store/sqlite-store.ts";
import { createEventLines, type EventLine } from "#terminal/event-line.ts";
import { renderTable } from "#terminal/table.ts";
import { clean } from "#util/clean.ts";
import { counted, type GlobalOptions, type House, openHouse } from "./house.ts";

const PAGE = 500;

export async function ps(options: GlobalOptions): Promise<number> {
  return reading(options, async (reader, house) => {
    const held = isHostHeld(house.home.lock);
    const rows = [];
    for (const row of await reader.agents()) rows.push(summaryOf(row, await stateOf(reader, row), house, held));
    if (house.talk.json) house.talk.data(JSON.stringify({ agents: rows }));
    else if (rows.length === 0) house.talk.say(`No agents in ${house.home.root} yet. Set one up: goald run`);
    else
      house.talk.data(renderTable(["ID", "NAME", "STATE", "STEP", "TOKENS", "CHANGED", "WORKSPACE"], rows.map(lineOf)));
    return EXIT.ok;
  });
}

export async function show(name: string, options: GlobalOptions): Promise<number> {
  return reading(options, async (reader, house) => {
    const row = await findAgent(reader, name);
    const state = await stateOf(reader, row);
    const summary = summaryOf(row, state, house, isHostHeld(house.home.lock));
    const files = latestFiles(await reader.files(row.id));
    const thoughts = await lastThoughts(reader, row);
    const { role, goals, settings, usage } = state;
    const whole = { ...summary, role, goals, settings, usage, lastThought: thoughts, files };
    if (house.talk.json) house.talk.data(JSON.stringify(whole));
    else house.talk.data(describe(whole));
    return EXIT.ok;
  });
}

export async function events(name: string, options: GlobalOptions & { readonly after?: number }): Promise<number> {
  return reading(options, async (reader, { talk }) => {
    const row = await findAgent(reader, name);
    const toLine = createEventLines();
    for await (const event of allEvents(reader, row.id)) {
      const line = toLine(event);
      if (event.seq <= (options.after ?? 0)) continue;
      if (talk.json) talk.data(JSON.stringify(line));
      else talk.data(clean(`${event.seq}  ${event.at}  ${event.type}  ${oneLine(detailOf(line), 160)}`));
    }
    return EXIT.ok;
  });
}

export async function files(name: string, options: GlobalOptions): Promise<number> {
  return reading(options, async (reader, house) => {
    const row = await findAgent(reader, name);
    const versions = await reader.files(row.id);
    const folder = join(house.home.workspaceFolder, row.folder);
    if (house.talk.json) house.talk.data(JSON.stringify({ workspace: folder, files: latestFiles(versions), versions }));
    else {
      const lines = latestFiles(versions).map(({ path, operation, step, bytes, at }) => [
        clean(path),
        operation,
        `${step}`,
        `${bytes}`,
        at,
      ]);
      house.talk.say(`Workspace: ${folder}`);
      if (lines.length === 0) house.talk.say("No file was written yet.");
      else house.talk.data(renderTable(["FILE", "LAST", "STEP", "BYTES", "AT"], lines));
    }
    return EXIT.ok;
  });
}

export async function verify(name: string | undefined, options: GlobalOptions): Promise<number> {
  return reading(options, async (reader, { talk }) => {
    const agent = name === undefined ? undefined : (await findAgent(reader, name)).id;
    const report = await reader.verify(agent);
    if (talk.json) talk.data(JSON.stringify(report));
    else {
      for (const problem of report.problems) talk.data(clean(problem));
      const verdict = report.problems.length === 0 ? "sound" : counted(report.problems.length, "problem");
      talk.say(`${counted(report.agents, "agent")}, ${counted(report.events, "event")}: ${verdict}.`);
    }
    return report.problems.length === 0 ? EXIT.ok : EXIT.error;
  });
}

/** By id, else by name; the newest of that name. Throws GOALD_NOT_FOUND, naming those that are there. */
export async function findAgent(reader: Pick<StoreReader, "agents" | "agent">, name: string): Promise<AgentRow> {
  const all = await reader.agents();
  const found =
    all.find((row) => row.id === name) ?? all.findLast((row) => row.name.toLowerCase() === name.toLowerCase());
  if (found) return found;
  const known = all.map((row) => row.id).slice(-10);
  const hint = known.length > 0 ? `There are: ${known.join(", ")}.` : "There are none yet. Set one up: goald run";
  throw new GoaldError(
    "GOALD_NOT_FOUND",
    `Expected the id or name of an agent, found none called ${JSON.stringify(name)}.`,
    { hint },
  );
}

export async function stateOf(reader: Pick<StoreReader, "load">, row: AgentRow): Promise<AgentState> {
  const { snapshot, events: tail } = await reader.load(row.id, STATE_VERSION);
  return replay(tail, (snapshot?.state as AgentState | undefined) ?? initialState);
}

/** One word for where an agent stands, as `ps` shows it. */
export function standingOf(state: AgentState, hostIsUp: boolean): string {
  const { phase } = activeFrame(state);
  if (phase.kind === "resting") return phase.outcome;
  if (state.paused) return `paused: ${state.paused.code}`;
  if (phase.kind === "awaiting-approval") return "waiting: approval";
  if (phase.kind === "waiting") return `waiting: ${phase.waitFor}`;
  return hostIsUp ? "running" : "interrupted";
}

function summaryOf(row: AgentRow, state: AgentState, { home }: House, hostIsUp: boolean) {
  return {
    id: row.id,
    name: state.name,
    state: standingOf(state, hostIsUp),
    reason: state.paused?.reason ?? null,
    step: state.step,
    tokens: state.usage.inputTokens + state.usage.outputTokens,
    createdAt: row.createdAt,
    changedAt: row.updatedAt,
    workspace: join(home.workspaceFolder, row.folder),
  };
}
type Summary = ReturnType<typeof summaryOf>;

const lineOf = ({ id, name, state, step, tokens, changedAt, workspace }: Summary): readonly string[] => [
  id,
  clean(oneLine(name, 30)),
  state,
  `${step}`,
  `${tokens}`,
  changedAt,
  workspace,
];

type Latest = Pick<Awaited<ReturnType<StoreReader["files"]>>[number], "path" | "operation" | "step" | "bytes" | "at">;

/** The last change of each file, in the order of their paths; goald's own spilled outputs and deleted files left out. */
function latestFiles(versions: readonly Latest[]): readonly Latest[] {
  const latest = new Map<string, Latest>();
  for (const { path, operation, step, bytes, at } of versions) latest.set(path, { path, operation, step, bytes, at });
  return [...latest.values()]
    .filter(({ path, operation }) => operation !== "delete" && !path.startsWith("_goald/"))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function lastThoughts(reader: StoreReader, row: AgentRow): Promise<string> {
  const tail = await reader.read(row.id, Math.max(0, row.head - 50), 50);
  return tail.findLast((event) => event.type === "command-requested")?.thought ?? "";
}

function describe(
  agent: Summary & { role: string; goals: readonly string[]; lastThought: string; files: readonly Latest[] },
): string {
  const lines = [
    `${agent.name} (${agent.id}), ${agent.role}`,
    ...agent.goals.map((goal, index) => `  ${index + 1}. ${goal}`),
    `State:      ${agent.state}${agent.reason ? ` (${agent.reason})` : ""}`,
    `Steps:      ${agent.step}, ${counted(agent.tokens, "token")}`,
    ...(agent.lastThought ? [`Thought:    ${agent.lastThought}`] : []),
    `Workspace:  ${agent.workspace}`,
    ...agent.files.map(({ path, bytes, step }) => `  ${path} (${bytes} bytes, step ${step})`),
  ];
  return lines.map(clean).join("\n");
}

/** What is particular to an event, for a person's eye. */
function detailOf({ v: _v, seq: _seq, at: _at, type: _type, frame: _frame, ...rest }: EventLine): string {
  return JSON.stringify(rest);
}

async function* allEvents(reader: Pick<StoreReader, "read">, agent: string): AsyncIterable<RecordedEvent> {
  for (let after = 0; ; ) {
    const page = await reader.read(agent, after, PAGE);
    yield* page;
    if (page.length < PAGE) return;
    after += page.length;
  }
}

async function reading(
  options: GlobalOptions,
  look: (reader: StoreReader, house: House) => Promise<number>,
): Promise<number> {
  const house = await openHouse(options);
  const reader = await openSqliteReader(house.home.database);
  try {
    return await look(reader, house);
  } finally {
    await reader.close();
    house.talk.close();
  }
}
