import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import type { CommandCall } from "#core/call.ts";
import type { RecordedEvent } from "#core/event.ts";
import { openSqliteReader } from "#store/sqlite/open-store.ts";
import { endedWith, type Goald, lookInto, makeGoald } from "../helpers/goald.ts";
import { numberedModel, write } from "../helpers/numbered-model.ts";
import { type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";
import { killUnder } from "../helpers/under-hooks.ts";

const HOOK = fileURLToPath(new URL("../helpers/kill-at-event.child.ts", import.meta.url));
const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"];

const lineOf = (number: number): string =>
  number % 4 === 1 ? `def task_${number}(value):` : `    value = step_${number}(value)`;
const FILE = Array.from({ length: 2000 }, (_, index) => `${lineOf(index + 1)}\n`).join("");
const edit = (old: string, replacement: string): CommandCall => ({
  name: "edit_file",
  args: { file: "tasks.py", old, new: replacement },
});
const CALLS = [
  write("tasks.py", FILE),
  edit(`${lineOf(1000)}\n${lineOf(1001)}\n`, `${lineOf(1000)}\n    return value\n\n\n${lineOf(1001)}\n`),
  edit("\tvalue = step_40(value)", "\tvalue = stop_40(value)"),
  edit("    value = step_40(value)\n", "    value = stop_40(value)\n"),
  edit("task_1997(value)", "task_1997(value, rest)"),
];
const EDITED = FILE.replace(`${lineOf(1000)}\n`, `${lineOf(1000)}\n    return value\n\n\n`)
  .replace("step_40(", "stop_40(")
  .replace("task_1997(value)", "task_1997(value, rest)");

async function openHome(): Promise<{ goald: Goald; server: OpenAIServer } & AsyncDisposable> {
  const server = await startOpenAIServer({ reply: numberedModel(CALLS), embeddings: null });
  const goald = await makeGoald({
    OPENAI_BASE_URL: server.baseUrl,
    GOALD_MEMORY_EMBEDDER: "offline",
    // The first reply contains the whole file.
    GOALD_MODELS_REPLY_TOKENS: "30000",
  });
  const close = async () => {
    await goald[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  };
  return { goald, server, [Symbol.asyncDispose]: close };
}

const resultsOf = (log: readonly RecordedEvent[]) =>
  log.flatMap((event) => (event.type === "command-finished" ? [event] : []));

async function versionsIn({ home }: Goald): Promise<readonly string[]> {
  const reader = await openSqliteReader(join(home, ".goald", "goald.db"));
  const versions = await reader.files("t");
  await reader.close();
  return versions.map(({ operation, step }) => `${operation} in step ${step}`);
}

describe("a run that edits a file of 2,000 lines", () => {
  it("edits three places, gets a useful answer to a miss, and keeps one version of each edit", async () => {
    await using home = await openHome();
    endedWith(0, await home.goald.ask(RUN));
    const { log, problems } = await lookInto(home.goald);
    const answers = resultsOf(log).map(({ observation }) => String(observation.text));
    expect(answers[1]).toContain("Edited tasks.py at 1 place, line 1000. It has 2003 lines now.\n998: ");
    expect(answers[1]).toContain("\n1001:     return value\n1002: \n1003: \n1004: def task_1001(value):\n");
    expect(answers[2]).toContain("`old` is not in tasks.py (2003 lines). Nothing was changed.");
    expect(answers[2]).toContain("They differ only in indentation: the file uses spaces.");
    expect(answers[2]).toContain("\n40:     value = step_40(value)\n");
    expect(answers[3]).toContain("Edited tasks.py at 1 place, line 40.");
    expect(await home.goald.read("workspace/t/tasks.py")).toBe(EDITED);
    expect(await versionsIn(home.goald)).toEqual([1, 2, 4, 5].map((step) => `write in step ${step}`));
    expect(home.server.violations).toEqual([]);
    expect(problems).toEqual([]);
    const restored = await home.goald.ask(["restore", "t", "--step", "1"]);
    expect([restored.code, await home.goald.read("workspace/t/tasks.py")]).toEqual([0, FILE]);
  });

  it.each(["before", "after"])("edits once when kill -9 comes %s the result is durable", async (when) => {
    await using home = await openHome();
    await using pattern = await openHome();
    endedWith(0, await pattern.goald.ask(RUN));
    // The third edit: its file is changed before its result is in the log.
    const seq = resultsOf((await lookInto(pattern.goald)).log)[3]?.seq;
    const killed = await killUnder({ imports: [HOOK], env: { KILL_AT_EVENT: `1:${seq}:${when}` } }, home.goald, RUN);
    expect(killed.signal).toBe("SIGKILL");
    expect(await home.goald.read("workspace/t/tasks.py")).toContain("stop_40(");
    expect(await versionsIn(home.goald)).toHaveLength(when === "before" ? 2 : 3);
    endedWith(0, await home.goald.ask(["resume", "t", "--json"]));
    const { log, problems } = await lookInto(home.goald);
    expect(resultsOf(log).map(({ observation }) => observation.status)).toEqual([
      "ok",
      "ok",
      "failed",
      "ok",
      "ok",
      "ok",
    ]);
    expect(resultsOf(log)[3]?.reconciled).toBe(when === "before" ? true : undefined);
    expect(await home.goald.read("workspace/t/tasks.py")).toBe(EDITED);
    expect(await versionsIn(home.goald)).toEqual(
      [1, 2, 4, 5].map((step) => `${step === 4 && when === "before" ? "found" : "write"} in step ${step}`),
    );
    expect(problems).toEqual([]);
  });
});
