/** resume.ts -- `goald resume`: continues an agent from the end of its log, after a pause, a limit or a crash. */
import { askYesNo } from "#cli/terminal/questions.ts";
import { EXIT } from "#core/errors.ts";
import { isFinished } from "#core/state.ts";
import { withReading } from "../agents.ts";
import { type CliContext, formatCall, openContext, printValue } from "../context.ts";
import { outcomeOf } from "../result.ts";
import { resumeAgent } from "../run-agent.ts";
import { approveOption, checkOptions, flagsOf, givenMode, RUN_OPTIONS, requireSomebody } from "../run-options.ts";
import { defineVerb, flag, NO_AGENT, RUN_CODES } from "../verb.ts";
import { type Found, findNamedOrLast } from "../with-agent.ts";
import { demoVerb } from "./demo.ts";

export const verb = defineVerb({
  description:
    "continue an agent where its log ends, after a pause, a limit or a crash; an agent that took all its steps gets 100 more",
  examples: ["goald resume", "goald resume chef --max-steps 50", "goald resume chef -d --approve risky --max-time 2h"],
  arguments: [{ name: "[agent]", about: "id or name (default: the last agent that is not finished)" }],
  options: {
    detach: flag("-d, --detach", "continue in the background and return at once"),
    approve: approveOption("unchanged"),
    ...RUN_OPTIONS,
  },
  exitCodes: { ...NO_AGENT, ...RUN_CODES },
  run: async ([name], options) => {
    checkOptions(options);
    using context = await openContext(options, flagsOf(options));
    const found = await findNamedOrLast(name, context);
    const isContinued = name !== undefined || (await isMeant(found, context));
    if (!isContinued) return isContinued === undefined ? EXIT.interrupted : EXIT.ok;
    if (isFinished(found.state) && !found.hasTurnWaiting) return alreadyFinished(found, context);
    const { approve, background } = found.state.settings;
    if (!background && !options.detach) requireSomebody(context, givenMode(options) ?? approve);
    return await resumeAgent(found, context, { ...options, playDemo: () => demoVerb(options) });
  },
});

/** Asks on a terminal when a person stopped the last agent, or when others are not finished either. Undefined: the person left. */
async function isMeant({ row, state }: Found, context: CliContext): Promise<boolean | undefined> {
  const { output } = context;
  const views = await withReading(context, (reading) => reading.agents());
  const others = views.filter((view) => view.id !== row.id && !["completed", "ended"].includes(view.state));
  const isStopped = state.paused?.code === "stopped" || state.paused?.code === "killed";
  if (!output.interactive || (!isStopped && others.length === 0)) return true;
  if (others.length > 0) output.say(`Not finished either: ${others.map(({ id }) => id).join(", ")}.`);
  return askYesNo(output, {
    question: `${isStopped ? "A person stopped it. " : ""}Continue ${row.id}?`,
    default: true,
    help: "  y  continue it\n  n  leave it as it is",
  });
}

function alreadyFinished({ row, state }: Found, context: CliContext): number {
  const { outcome, reason } = outcomeOf(state);
  const files = formatCall(context.home, "show", row.id, "--files");
  const next = formatCall(context.home, "run", "--continue", row.id, "-g", '"…"');
  return printValue(
    context,
    { type: "result", agent: row.id, outcome, reason, exitCode: EXIT.ok },
    () =>
      `${state.name} (${row.id}) has finished already, and keeps its settings: ${reason}\nIts files: ${files}\nIts next turn, with other settings: ${next}`,
  );
}
