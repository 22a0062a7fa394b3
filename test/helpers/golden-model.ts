/** golden-model.ts -- the model behind the transcripts: what an agent does follows from its name. */

import { append, replyWith, write } from "./numbered-model.ts";
import type { ChatRequest } from "./openai-answers.ts";
import { nameIn, startAgent, subagentModel } from "./subagent-model.ts";

type CommandCall = ReturnType<typeof write>;

const read = (file: string): CommandCall => ({ name: "read_file", args: { file } });
const bake = (what: string): CommandCall => ({ name: "bake", args: { what } });
const ask = (question: string): CommandCall => ({ name: "ask_user", args: { question } });

const WORK: Readonly<Record<string, readonly CommandCall[]>> = {
  Baker: [
    write("notes/hours.md", "The shop opens at eight.\nIt closes at six.\n"),
    append("flour\n", "list.txt"),
    read("notes/hours.md"),
    read("missing.md"),
    write("notes/hours.md", "The shop opens at nine.\nIt closes at six.\n"),
    { name: "delete_file", args: { file: "list.txt" } },
    append("- bread\n- rolls\n", "plan.md"),
  ],
  Clerk: [append("one\n", "ledger.txt"), append("two\n", "ledger.txt"), append("three\n", "ledger.txt")],
  Asker: [ask("Which city?"), write("city.txt", "The city is known.\n")],
  Miller: [bake("bread"), bake("rolls"), bake("cake")],
  Lead: [startAgent("Ann"), write("done.txt", "Ann is done.\n")],
  Ann: [write("ann.txt", "Ann was here.\n")],
};

/** "Babbler" never gives a usable reply, and "Stuck" gets nothing done. */
export function goldenModel(request: ChatRequest): string {
  const name = nameIn(request);
  if (name === "Babbler") return "I would rather talk about the weather.";
  if (name === "Stuck") return replyWith({ name: "do_nothing", args: {} });
  return subagentModel(WORK)(request);
}

/** The call that runs an agent of that name. */
export const runOf = (name: string): readonly string[] => [
  ...["run", "--name", name, "--role", "an assistant that helps a bakery"],
  ...["-g", "Write down the hours", "-g", `Make the list of ${name}`],
];

/** A command that asks first, and then takes until there is a file "open.txt" in the workspace. */
export const BAKE = `export default {
  name: "bake", label: "Bake", summary: "Bakes.", effect: "at-most-once", timeoutMs: 60000,
  args: { type: "object", required: ["what"], properties: { what: { type: "string", description: "what" } } },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  async run({ what }, { workspace }) {
    while (!(await workspace.stat("open.txt"))) await new Promise((resolve) => setTimeout(resolve, 20));
    return { status: "ok", text: "Baked: " + what, source: "goald", artifacts: [] };
  },
};
`;
