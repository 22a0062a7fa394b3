/** rm.ts -- `goald rm`: removes an agent from the store, and its folder with --files. */
import { join } from "node:path";
import { printNote } from "#cli/terminal/print.ts";
import { askYesNo } from "#cli/terminal/questions.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { isOver } from "#core/state.ts";
import { clean } from "#util/outside-text.ts";
import { type AgentView, isOver as hasEnded } from "#views/agent-view.ts";
import { reading } from "../agents.ts";
import { formatCall, printValue } from "../context.ts";
import { defineVerb, flag, HOST_CODES, NO_AGENT, type OptionValues, usageError } from "../verb.ts";
import { type Steered, withAgent } from "../with-agent.ts";

const OPTIONS = {
  force: flag("-f, --force", "do not ask, and kill the agent first if it is not done"),
  files: flag("--files", "remove its folder in the workspace, too"),
};
const UNIQUE = { unique: true };
type RemoveOptions = OptionValues<typeof OPTIONS>;

export const verb = defineVerb({
  description: "remove an agent: its log, memory and file history; its folder stays",
  examples: ["goald rm chef", "goald rm chef scout --files", "goald rm -f chef", "goald rm --ended -f"],
  arguments: [{ name: "[agents...]", about: "ids or names" }],
  options: {
    ...OPTIONS,
    ended: flag("--ended", "remove every agent that has finished or was stopped, unless a helper of it goes on"),
  },
  exitCodes: { ...NO_AGENT, ...HOST_CODES, interrupted: "you left the question" },
  run: async (names, { ended: isEnded = false, ...options }) => {
    if (isEnded === names.length > 0) throw usageError("Expected agents or --ended.", "Such as: goald rm chef");
    const depths = new Map<string, number>();
    // An unknown one is an error before any is removed.
    for (const name of names.length > 1 ? names : []) {
      const find = async ({ row }: Pick<Steered, "row">): Promise<number> => {
        depths.set(name, row.folder.split("/").length);
        return EXIT.ok;
      };
      await withAgent(name, options, find, UNIQUE);
    }
    // The folder of a sub-agent is below that of its parent.
    const deepestFirst = [...new Set(names)].sort((a, b) => (depths.get(b) ?? 0) - (depths.get(a) ?? 0));
    const ids = isEnded ? await reading(options, async (opened) => listEnded(await opened.agents())) : deepestFirst;
    let code: number = EXIT.ok;
    for (const name of ids)
      if (code !== EXIT.interrupted) code = Math.max(code, await removeVerb(name, options, isEnded));
    return code;
  },
});

/** Sub-agents are younger than their parents and go first. One that paused with an ended parent has ended too. */
function listEnded(views: readonly AgentView[]): readonly string[] {
  const ended = new Set<string | null>();
  for (const { id, state, parent } of views)
    if (hasEnded(state) || (state === "paused: parent" && ended.has(parent))) ended.add(id);
  for (const { id, parent } of views.toReversed())
    if (!ended.has(id) && ended.delete(parent)) printNote(`${parent} stays: its helper ${id} has not ended.`);
  return views.flatMap(({ id }) => (ended.has(id) ? [id] : [])).toReversed();
}

/** `isEnded`: it is removed with all others that have ended. */
async function removeVerb(name: string, options: RemoveOptions, isEnded: boolean): Promise<number> {
  const { force = false, files = false } = options;
  return withAgent(
    name,
    options,
    async ({ row, state, context, reach }) => {
      const { output, home } = context;
      const flags = files ? ["-f", "--files"] : ["-f"];
      const unasked = formatCall(home, "rm", ...flags, row.id);
      if (!force && !isOver(state))
        throw new GoaldError("GOALD_CONFLICT", `${row.id} is not done.`, {
          hint: `Stop it first: ${formatCall(home, "stop", row.id)}, or kill and remove it: ${unasked}`,
        });
      if (!force && !output.interactive)
        throw new GoaldError("GOALD_USAGE", `There is no terminal to ask on before ${row.id} is removed.`, {
          hint: `Remove it without asking: ${isEnded ? formatCall(home, "rm", ...flags, "--ended") : unasked}`,
        });
      const folder = join(context.home.workspaceFolder, row.folder);
      if (!force) {
        const what = files ? `Its folder ${folder} is deleted, too.` : `Its folder ${folder} stays.`;
        output.say(clean(`${row.name} (${row.id}): its log, memory and file history are deleted. ${what}`));
        const help = "  y  remove the agent for good\n  n  keep it";
        const isSure = await askYesNo(output, { question: "Remove it?", default: false, help });
        if (isSure === undefined) return EXIT.interrupted;
        if (!isSure) {
          output.say("Nothing was removed.");
          return EXIT.ok;
        }
      }
      const client = await reach();
      const { id, workspace } = await client.remove(row.id, { force, files });
      const what = files ? "Its folder was deleted" : "Its folder stays";
      return printValue(context, { id, workspace, files }, () => `${id} was removed. ${what}: ${workspace}`);
    },
    UNIQUE,
  );
}
