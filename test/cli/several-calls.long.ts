import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { replay } from "#core/evolve.ts";
import { endedWith, linesOf, lookInto, makeGoald } from "../helpers/goald.ts";
import type { Answer, ChatRequest } from "../helpers/openai-answers.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { killUnder } from "../helpers/under-hooks.ts";

const HOOK = fileURLToPath(new URL("../helpers/kill-at-event.child.ts", import.meta.url));
const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--form", "tools", "--json"];

const tool = (name: string, args: object) => ({
  id: `call-${name}-${JSON.stringify(args).length}`,
  type: "function",
  function: { name, arguments: JSON.stringify({ thought: `I use ${name}.`, ...args }) },
});
const STEPS = [
  [tool("write_to_file", { file: "a.txt", text: "alpha\n" })],
  [tool("write_to_file", { file: "bee.txt", text: "beta\n" })],
  [tool("read_file", { file: "a.txt" }), tool("read_file", { file: "bee.txt" })],
  [tool("write_to_file", { file: "sum.txt", text: "alpha beta\n" })],
  [tool("task_complete", { reason: "Done." })],
];
/** Decides by the prompt alone, as a real model does. */
const answer = ({ messages }: ChatRequest): Answer => {
  const step = messages.filter(({ role }) => role === "assistant").length;
  return { text: null, finishReason: "tool_calls", toolCalls: STEPS[step] ?? [] };
};

async function openHome() {
  const server = await startOpenAIServer({ reply: answer, embeddings: null });
  const goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
  return {
    goald,
    server,
    [Symbol.asyncDispose]: async () => {
      await goald[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}
type Home = Awaited<ReturnType<typeof openHome>>;

async function expectWhole({ goald, server }: Home): Promise<void> {
  const { log, problems } = await lookInto(goald);
  expect(problems).toEqual([]);
  const ended = log.flatMap((event) =>
    event.type === "command-finished" ? [`${event.callId} ${event.observation.status}`] : [],
  );
  expect(ended).toEqual(["c1 ok", "c2 ok", "c3 ok", "c3-2 ok", "c4 ok", "c5 ok"]);
  expect(replay(log)).toMatchObject({ step: 5, open: [], frames: [{ phase: { kind: "resting" }, queue: [] }] });
  const last =
    server.chats
      .at(-1)
      ?.messages.map(({ content }) => content)
      .join("\n") ?? "";
  expect(last).toMatch(/alpha[\s\S]*beta/);
}

describe("goald run --form tools with a model that calls two tools at once", () => {
  it.concurrent("runs both in one step, shows them, and replays to the same state", async () => {
    await using home = await openHome();
    const { goald, server } = home;
    const file = join(goald.cwd, "t.ndjson");
    endedWith(0, await goald.ask([...RUN, "--record", file]));
    await expectWhole(home);
    expect(server.chats).toHaveLength(5);
    expect(server.chats.every(({ stream }) => stream)).toBe(true);
    expect(server.violations).toEqual([]);
    const step = endedWith(0, await goald.ask(["show", "t", "--step", "3"]));
    expect(step.stdout).toContain('"file": "a.txt"');
    expect(step.stdout).toMatch(/Other calls: 1 call\n {2}c3-2 {2}read_file \{"file":"b(ee)?\.txt"\}: ok/);
    const next = endedWith(0, await goald.ask(["show", "t", "--step", "4"]));
    expect(next.stdout).toContain("exactly as sent");
    const why = endedWith(0, await goald.ask(["why", "t", "sum.txt"]));
    expect(why.stdout).toMatch(/a\.txt[\s\S]*bee\.txt/);
    const report = endedWith(0, await goald.ask(["show", "t", "--report"]));
    expect(report.stdout).toMatch(/bee\.txt/);
    const replaying = () => goald.ask(["replay", file, "--json"], { env: { TMPDIR: goald.cwd } });
    expect(linesOf(endedWith(0, await replaying())).at(-1)).toMatchObject({ same: true, problems: [] });
    // Control: the second call reads another file, which is another state.
    const text = await readFile(file, "utf8");
    const changed = text.replace(/(read_file[\\"]*,[\\"]*args[^}]*)bee\.txt/, "$1a.txt");
    expect(changed).not.toBe(text);
    await writeFile(file, changed);
    endedWith(1, await replaying());
  });

  it.concurrent("has each result once after a kill between the two", async () => {
    await using first = await openHome();
    endedWith(0, await first.goald.ask(RUN));
    const { log } = await lookInto(first.goald);
    const between = log.find((event) => event.type === "command-started" && event.callId === "c3-2")?.seq;
    for (const when of ["before", "after"]) {
      await using home = await openHome();
      const env = { KILL_AT_EVENT: `1:${between}:${when}` };
      expect((await killUnder({ imports: [HOOK], env }, home.goald, RUN)).signal).toBe("SIGKILL");
      endedWith(0, await home.goald.ask(["resume", "t", "--json"]));
      await expectWhole(home);
      expect(home.server.chats).toHaveLength(5);
    }
  });
});
