/**
 * run.ts -- `goald run` and `goald resume`: an agent in front of a person, or of nobody.
 *
 * Everything that can be wrong with the call is found before anything is created: flags, agent, terminal, key.
 */
import { readAgentFile } from "#config/agent-file.ts";
import { DEFAULT_AGENT, validateAgent } from "#config/agent-spec.ts";
import type { SettingFlags } from "#config/load.ts";
import type { Settings } from "#config/settings.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import type { AgentSettings, GivenSettings } from "#core/event.ts";
import type { AgentRow, AgentSpec } from "#core/ports.ts";
import { type AgentState, activeFrame } from "#core/state.ts";
import type { ForegroundParts } from "#daemon/foreground.ts";
import { openSqliteReader } from "#store/sqlite-store.ts";
import { parseAnswer } from "#terminal/approve.ts";
import { setUpAgent } from "#terminal/set-up.ts";
import { clean } from "#util/clean.ts";
import { systemClock } from "#util/clock.ts";
import { openHost } from "../main.ts";
import { connected } from "./connect.ts";
import { hostAgent, openHouseLog } from "./host-agent.ts";
import { again, type GlobalOptions, type House, openHouse } from "./house.ts";
import { findAgent, stateOf } from "./read.ts";

export interface RunOptions extends GlobalOptions {
  readonly name?: string;
  readonly role?: string;
  readonly goal?: readonly string[];
  readonly from?: string;
  readonly continuous?: boolean;
  readonly continuousLimit?: number;
  readonly model?: string;
}

/** `goal` is the argument without a flag: one more goal. */
export async function runVerb(goal: string | undefined, options: RunOptions): Promise<number> {
  checkLimit(options);
  const house = await openHouse(options, flagsOf(options));
  try {
    const given = await agentFromFlags(goal, options, house.settings.agentFile);
    if (!given && !house.talk.interactive) throw nobodyDescribed();
    requireSomebody(house, options.continuous === true || house.settings.approve === "never");
    if (given) return await createAndRun(given, house, options);
    const found = await lastAgent(house);
    const last = found && !isFinished(found) ? found : undefined;
    const chosen = await setUpAgent(house.talk.input(), (line) => house.talk.say(line), last?.state);
    if (chosen.kind === "left") return EXIT.interrupted;
    if (chosen.kind === "go-on" && last) return await resumeAndRun(last.row, last.state, house, options);
    if (chosen.kind === "new") return await createAndRun(chosen.agent, house, options);
    return EXIT.ok;
  } finally {
    house.talk.close();
  }
}

/** `name`: id or name; without one, the last agent that is not finished. */
export async function resumeVerb(name: string | undefined, options: RunOptions): Promise<number> {
  checkLimit(options);
  const house = await openHouse(options, flagsOf(options));
  try {
    const found = name === undefined ? await lastAgent(house) : await findState(name, house);
    if (!found)
      throw new GoaldError("GOALD_NOT_FOUND", "There is no agent to go on with.", {
        hint: "See them all: goald ps",
      });
    const { row, state } = found;
    if (isFinished(found)) return alreadyFinished(row, state, house);
    requireSomebody(house, options.continuous === true || state.settings.approve === "never");
    return await resumeAndRun(row, state, house, options);
  } finally {
    house.talk.close();
  }
}

async function createAndRun(
  agent: Pick<AgentSpec, "name" | "role" | "goals">,
  visited: House,
  options: RunOptions,
): Promise<number> {
  const connection = await connected(visited, options);
  if (connection.kind === "done") return connection.exitCode;
  const { house } = connection;
  await using host = await openHost(house.home, house.settings, await openHouseLog(house));
  const at = systemClock.now().toISOString();
  const { scrub } = house;
  const draft = { name: agent.name, role: scrub(agent.role), goals: agent.goals.map(scrub) };
  const spec: AgentSpec = { ...draft, ...newSettings(house.settings, options, 0) };
  const row = await host.store.create(spec, `run/${process.pid}/${at}`, at);
  return (await hostAgent(host, row, house, askAt(house))).exitCode;
}

async function resumeAndRun(row: AgentRow, state: AgentState, visited: House, options: RunOptions): Promise<number> {
  const connection = await connected(visited, options);
  if (connection.kind === "done") return connection.exitCode;
  const { house } = connection;
  await using host = await openHost(house.home, house.settings, await openHouseLog(house));
  const at = systemClock.now().toISOString();
  const key = `resume/${process.pid}/${at}`;
  const settings = resumedSettings(state, house.settings, options);
  if (settings) await host.store.deliver(row.id, `${key}/settings`, { type: "settings", ...settings }, at);
  await host.store.deliver(row.id, key, { type: "resume" }, at);
  return (await hostAgent(host, row, house, askAt(house))).exitCode;
}

function alreadyFinished(row: AgentRow, state: AgentState, { talk, home }: House): number {
  const { phase } = activeFrame(state);
  const reason = phase.kind === "resting" ? phase.reason : "";
  if (talk.json)
    talk.data(JSON.stringify({ type: "result", agent: row.id, outcome: "completed", reason, exitCode: EXIT.ok }));
  else
    talk.say(
      clean(`${state.name} (${row.id}) has finished already: ${reason}\nIts files: ${again(home, "files", row.id)}`),
    );
  return EXIT.ok;
}

// ---------------------------------------------------------------- what was asked for

async function agentFromFlags(
  goal: string | undefined,
  options: RunOptions,
  agentFile: string | null,
): Promise<Pick<AgentSpec, "name" | "role" | "goals"> | undefined> {
  const goals = [...(options.goal ?? []), ...(goal === undefined ? [] : [goal])];
  const { name, role } = options;
  const from = options.from ?? (name === undefined && role === undefined && goals.length === 0 ? agentFile : undefined);
  if (from) {
    const file = await readAgentFile(from);
    for (const note of file.notes) console.error(`${from}: ${note}`);
    return validateAgent({
      name: name ?? file.name,
      role: role ?? file.role,
      goals: goals.length > 0 ? goals : file.goals,
    });
  }
  if (name === undefined && role === undefined && goals.length === 0) return undefined;
  return validateAgent({ name: name ?? DEFAULT_AGENT.name, role: role ?? DEFAULT_AGENT.role, goals });
}

/** A run that asks about nothing has a step limit even when none was given. */
function newSettings(settings: Settings, options: RunOptions, step: number): GivenSettings {
  const approve = options.continuous ? "never" : settings.approve;
  const limit = options.continuousLimit ?? (approve === "never" ? settings.limits.unattendedSteps : null);
  return { approve, stepLimit: limit === null ? null : step + limit };
}

/** What a resume changes: the mode when --continuous says so, the limit when it is reached or a new one is given. */
function resumedSettings(
  state: AgentState,
  settings: Settings,
  options: RunOptions,
): Partial<AgentSettings> | undefined {
  const { approve, stepLimit } = state.settings;
  if (options.continuous) return newSettings(settings, options, state.step);
  if (stepLimit === null || state.step < stepLimit) return undefined;
  return { approve, stepLimit: state.step + settings.limits.unattendedSteps };
}

function checkLimit(options: RunOptions): void {
  if (options.continuousLimit !== undefined && !options.continuous)
    throw new GoaldError("GOALD_USAGE", "--continuous-limit goes with --continuous.", {
      hint: "Add --continuous, or leave the limit out: you are asked about each command.",
    });
}

const nobodyDescribed = (): GoaldError =>
  new GoaldError("GOALD_USAGE", "There is no agent to run: no goal was given, and there is no terminal to ask on.", {
    hint: 'Give at least a goal: goald run --goal "…" --continuous, or a file: goald run --from agent.yaml --continuous.',
  });

/** Throws GOALD_USAGE when commands want a yes and nobody can give one. */
function requireSomebody(house: House, unattended: boolean): void {
  if (unattended || house.talk.interactive) return;
  throw new GoaldError("GOALD_USAGE", "There is no terminal to ask on before each command.", {
    hint: "Add --continuous to run every command without asking (with --continuous-limit N for another step limit).",
  });
}

const flagsOf = ({ model }: RunOptions): SettingFlags => (model === undefined ? {} : { "models.smart": model });

interface Found {
  readonly row: AgentRow;
  readonly state: AgentState;
}

async function findState(name: string, house: House): Promise<Found> {
  const reader = await openSqliteReader(house.home.database);
  try {
    const row = await findAgent(reader, name);
    return { row, state: await stateOf(reader, row) };
  } finally {
    await reader.close();
  }
}

const isFinished = ({ state }: Found): boolean => activeFrame(state).phase.kind === "resting";

/** The agent that changed last of those that are not finished; else the one that changed last; undefined when there are none. */
async function lastAgent(house: House): Promise<Found | undefined> {
  const reader = await openSqliteReader(house.home.database);
  try {
    const rows = [...(await reader.agents())].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
    let newest: Found | undefined;
    for (const row of rows) {
      const found = { row, state: await stateOf(reader, row) };
      if (!isFinished(found)) return found;
      newest ??= found;
    }
    return newest;
  } finally {
    await reader.close();
  }
}

/** Asks the person at the terminal about one command; the answer's grammar is AutoGPT's. */
function askAt({ talk, settings }: House): ForegroundParts["ask"] {
  if (!talk.interactive) return undefined;
  const { yes, no } = settings.keys;
  const question = `Run it? ${yes} = yes, ${yes} -N = yes to N commands, ${no} = stop here, or say what to do instead: `;
  let isFirst = true;
  return async (_call, interrupt) => {
    // What was typed on at the set-up may answer the first question; a second “y” must not approve what nobody has seen.
    if (!isFirst) talk.input().dropTypedAhead();
    isFirst = false;
    for (;;) {
      const line = await talk
        .input()
        .askLine(question, interrupt)
        .catch((thrown: unknown) => {
          if (interrupt.aborted) return undefined;
          throw thrown;
        });
      if (line === undefined) return { kind: "leave" };
      const answer = parseAnswer(line, settings.keys);
      switch (answer.kind) {
        case "approved":
        case "feedback":
          return answer;
        case "denied-exit":
          return { kind: "leave" };
        case "again":
          talk.say(answer.why);
      }
    }
  };
}
