/**
 * page-transcripts.ts -- runs the commands of README.md and docs/tutorial.md, and puts below each what it printed.
 *
 * A block with the fence `console` is recorded: its lines with `$ ` are run by a shell, all blocks of a page in one temporary
 * user's home, against a model server on loopback with scripted replies. Daemons, kills and output are real. One thing is
 * changed in the output: the path of the temporary home becomes `~`.
 */
import { appendFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CommandCall } from "#core/call.ts";
import { makeGoald } from "./goald.ts";
import { type Answer, startOpenAIServer } from "./openai-server.ts";
import { waitUntil } from "./waits.ts";

export interface Page {
  readonly path: string;
  /** The model server answers each request with one of them, in order, and a request too many with an error. */
  readonly replies: readonly Answer[];
  /** By the beginning of a command: a shell condition that must hold before it runs. Each applies once. */
  readonly waits: readonly (readonly [command: string, condition: string])[];
}

const reply = (text: string, command: CommandCall): Answer => ({
  text: JSON.stringify({ thoughts: { text }, command }),
  usage: { prompt_tokens: 4_500, completion_tokens: 200, total_tokens: 4_700 },
});
const done = (reason: string): CommandCall => ({ name: "task_complete", args: { reason } });
const dinner = (result: string): Answer => reply("I answer.", { name: "task_complete", args: { result } });

const WEEK = `import time
for day in ["Mon", "Tue", "Wed"]:
    dinner = agent.run(f"Name a dinner for {day} under 4 dollars", str)
    append_to_file("plan.md", f"{day}: {dinner}\\n")
    time.sleep(4)  # the rate limit of the server`;
const PLAN = "# Three dinners\n\n1. Lentil soup\n2. Fish and potatoes\n3. Bean chili\n";

export const PAGES: readonly Page[] = [
  {
    path: "README.md",
    replies: [
      reply("I ask for one dinner a day, and write each down at once.", { name: "run_code", args: { code: WEEK } }),
      ...["lentil soup, $2.10", "bean chili, $2.80", "tofu noodles, $3.00"].map(dinner),
      reply("All three days are in plan.md.", done("plan.md has three dinners under 4 dollars each.")),
    ],
    waits: [["cat", '[ "$(wc -l < ~/goald/workspace/chef/plan.md)" = 2 ]']],
  },
  {
    path: "docs/tutorial.md",
    replies: [
      reply("I write the plan first.", { name: "write_to_file", args: { file: "plan.md", text: PLAN } }),
      reply("The plan is written.", done("plan.md names three dinners.")),
      reply("Fish must go. I replace the second dinner.", {
        name: "edit_file",
        args: { file: "plan.md", old: "Fish and potatoes", new: "Potato curry" },
      }),
      reply("No dinner has fish now.", done("plan.md has potato curry instead of fish.")),
    ],
    waits: [
      ["goald ps", "goald ps | grep -q approval"],
      ["cat", "goald ps | grep -q completed"],
      ["goald show chef | grep", "goald ps | grep -q approval"],
      ["goald diff", "goald ps | grep -q completed"],
    ],
  },
];

/** Returns the text of the page with fresh output, and the number of requests that the model server got. */
export async function recordPage({ path, replies, waits }: Page): Promise<{ text: string; requests: number }> {
  await using goald = await makeGoald();
  const { userHome } = goald;
  await using server = await startOpenAIServer({
    embeddings: null,
    reply: (_request, index) => {
      appendFileSync(join(userHome, "requests.log"), "POST /v1/chat/completions\n");
      return replies[index] ?? { status: 400, body: { error: { message: "No reply is left." } } };
    },
  });
  const env = {
    GOALD_HOME: join(userHome, "goald"),
    GOALD_MEMORY_EMBEDDER: "offline",
    OPENAI_BASE_URL: server.baseUrl,
    OPENAI_API_KEY: "sk-none",
  };
  const run = (command: string) => goald.run([], { env, cwd: userHome, shell: `${SHELL}\n${command}` });
  const open = [...waits];
  const lines = (await readFile(path, "utf8")).split("\n");
  const text = await replaceOutputs(lines, async (command) => {
    const at = open.findIndex(([beginning]) => command.startsWith(beginning));
    const [, condition] = at < 0 ? [] : (open.splice(at, 1)[0] ?? []);
    if (condition) await waitUntil(condition, async () => (await run(condition)).code === 0);
    return (await run(command)).stdout.replaceAll(userHome, "~");
  });
  return { text, requests: server.chats.length };
}

/** Standard error goes where standard output goes. The script's arguments are node and goald.js. */
const SHELL = 'exec 2>&1; node=$1 binary=$2; goald() { "$node" "$binary" "$@"; }';
const FENCE = "```console";

async function replaceOutputs(lines: readonly string[], run: (command: string) => Promise<string>): Promise<string> {
  const kept: string[] = [];
  let isInside = false;
  for (const line of lines) {
    if (line.startsWith("```")) isInside = line === FENCE;
    if (!isInside || line === FENCE) kept.push(line);
    else if (line.startsWith("$ ")) kept.push(line, ...linesOf(await run(line.slice(2))));
  }
  return kept.join("\n");
}

const linesOf = (output: string): readonly string[] => (output.trim() === "" ? [] : output.trimEnd().split("\n"));

/**
 * Replaces what differs from run to run: process ids, times, spans of time with the blanks that align them, and how far an
 * agent is when a call returns. A kill in the middle of a write prints one line twice, so equal lines in a row become one.
 */
export const maskVolatile = (text: string): string =>
  text
    .replaceAll(/\bpid \d+/g, "pid N")
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*Z?/g, "TIME")
    .replaceAll(/\b\d+(?:\.\d+)? (?:ms|s|min)\b/g, "SPAN")
    .replaceAll(/ is [\w: ]+ \(step \d+\)\.$/gm, " is STATE.")
    .replaceAll(/ +/g, " ")
    .replaceAll(/^(.+)\n(?:\1\n)+/gm, "$1\n");
