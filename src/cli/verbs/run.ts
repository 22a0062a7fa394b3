/**
 * run.ts -- `goald run`: creates an agent, then follows it or lets it run in the background.
 *
 * Flags, agent, terminal and key are checked before anything is created.
 */

import { printNote } from "#cli/terminal/print.ts";
import { readAgentFile } from "#config/agent-file.ts";
import { DEFAULT_AGENT, validateAgent } from "#config/agent-spec.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import type { AgentSpec } from "#core/ports/agent.ts";
import { isFinished } from "#core/state.ts";
import { RUN_CODES } from "../exit-codes.ts";
import { flag, text, texts } from "../option.ts";
import { openContext } from "../shared/context.ts";
import { type Found, lastAgent } from "../shared/find.ts";
import type { RunAgentOptions } from "../shared/run-agent.ts";
import { approveOption, RUN_OPTIONS } from "../shared/run-options.ts";
import { checkOptions, flagsOf, givenMode, requireSomebody } from "../shared/run-settings.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "run",
  group: "Set agents going",
  summary: "start a new agent, here or in the background (-d)",
  description: "start a new agent, set up by questions or by options, here or in the background",
  examples: [
    "goald run",
    'goald run --name Foo --role "an assistant that plans meals" -g "Plan a week" -g "Write it to plan.md"',
    "goald run --from agent.yaml --continuous --continuous-limit 50 --json",
    "goald run -d --from agent.yaml --approve risky --max-time 8h --budget 2.50",
    "goald run --wait --from agent.yaml --max-steps 200 && cat workspace/foo/plan.md",
    "goald run --from agent.yaml --continuous --record foo.ndjson && goald replay foo.ndjson",
  ],
  arguments: [{ name: "[goal]", about: "a goal, as with --goal" }],
  options: {
    name: text("--name <name>", "name the agent"),
    role: text("--role <role>", "describe its role, such as “an assistant that plans meals”"),
    goal: texts("-g, --goal <goal>", "add a goal; repeat it for up to five"),
    from: text("--from <file>", "read ai_name, ai_role and ai_goals from a YAML file; other options override them"),
    detach: flag("-d, --detach", "run it in the background and return at once"),
    wait: flag("--wait", "run it in the background and wait silently for its result"),
    approve: approveOption("always here, risky in the background"),
    ...RUN_OPTIONS,
  },
  exitCodes: RUN_CODES,
  run: ([goal], options) => runVerb(goal, options),
});

export interface RunOptions extends RunAgentOptions {
  readonly name?: string;
  readonly role?: string;
  readonly goal?: readonly string[];
  readonly from?: string;
}

/** `goal`: the argument without a flag, which adds a goal. */
export async function runVerb(goal: string | undefined, options: RunOptions): Promise<number> {
  checkOptions(options);
  const context = await openContext(options, flagsOf(options));
  try {
    const given = await agentFromFlags(goal, options, context.settings.agentFile);
    if (!given && !context.output.interactive) throw nobodyDescribed();
    if (!options.detach && !options.wait) requireSomebody(context, givenMode(options) ?? context.settings.approve);
    const { createAgent, resumeAgent } = await import("../shared/run-agent.ts");
    const playDemo = async (): Promise<number> => (await import("./demo.ts")).demoVerb(options);
    const starting = { ...options, playDemo };
    if (given) return await createAgent(given, context, starting);
    const found = await lastAgent(context);
    const last = found && isLeftBehind(found) ? found : undefined;
    const { setUpAgent } = await import("#cli/terminal/set-up.ts");
    const chosen = await setUpAgent(context.output.input(), (line) => context.output.say(line), last?.state);
    if (chosen.kind === "left") return EXIT.interrupted;
    if (chosen.kind === "go-on" && last) return await resumeAgent(last, context, starting);
    if (chosen.kind === "new") return await createAgent(chosen.agent, context, starting);
    return EXIT.ok;
  } finally {
    context.output.close();
  }
}

/** True for an unfinished agent that no daemon continues by itself. */
const isLeftBehind = ({ state }: Found): boolean =>
  !isFinished(state) && (state.paused !== null || !state.settings.background);

// ---------------------------------------------------------------- the requested agent

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
    for (const note of file.notes) printNote(`${from}: ${note}`);
    return validateAgent({
      name: name ?? file.name,
      role: role ?? file.role,
      goals: goals.length > 0 ? goals : file.goals,
    });
  }
  if (name === undefined && role === undefined && goals.length === 0) return undefined;
  return validateAgent({ name: name ?? DEFAULT_AGENT.name, role: role ?? DEFAULT_AGENT.role, goals });
}

const nobodyDescribed = (): GoaldError =>
  new GoaldError("GOALD_USAGE", "There is no agent to run: no goal was given, and there is no terminal to ask on.", {
    hint: 'Give at least a goal: goald run -d "…" in the background, or goald run --goal "…" --continuous; or a file: goald run --from agent.yaml --continuous.',
  });
