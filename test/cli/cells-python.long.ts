import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { endedWith, linesOf, lookInto, makeGoald } from "../helpers/goald.ts";
import { numberedModel } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { killUnder } from "../helpers/under-hooks.ts";

const HOOK = fileURLToPath(new URL("../helpers/kill-at-event.child.ts", import.meta.url));
const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"];
const cell = (code: string) => ({ name: "run_code", args: { code } });
const CELLS = [
  cell("import random\nrolls = [random.random() for _ in range(3)]\nopen('rolls.txt', 'w').write(str(rolls))\nrolls"),
  cell(
    "import os\nos.makedirs('plots')\nopen('plots/a.svg', 'w').write('<svg></svg>')\nos.remove('rolls.txt')\nlen(rolls)",
  ),
  { name: "write_to_file", args: { file: "twice.py", text: "print(len(rolls) * 2)" } },
  { name: "execute_python_file", args: { file: "twice.py" } },
  cell("gen = (x for x in [1])\nopen('.envrc', 'w').write('rm -rf /')\n1"),
];

describe("cells of Python from the terminal", () => {
  it("share names and files, name pictures, ask about files that others run, and replay without a process", async () => {
    await using server = await startOpenAIServer({ reply: numberedModel(CELLS), embeddings: null });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    const file = join(goald.cwd, "t.ndjson");
    endedWith(0, await goald.run([...RUN, "--record", file]));
    const { log, problems } = await lookInto(goald);
    expect(problems).toEqual([]);
    const results = log.flatMap((event) =>
      event.type === "command-finished" && /^c\d+$/.test(event.callId) ? [event.observation] : [],
    );
    expect(results).toMatchObject([
      { status: "ok", artifacts: ["rolls.txt"] },
      {
        status: "ok",
        text: "3\nPictures: plots/a.svg.",
        artifacts: expect.arrayContaining(["plots/a.svg", "rolls.txt"]),
      },
      { status: "ok" },
      { status: "ok", text: "6" },
      { status: "failed", code: "cell-failed", text: expect.stringContaining("direnv") },
      { status: "ok" },
    ]);
    expect(await goald.read("workspace/t/plots/a.svg")).toBe("<svg></svg>");
    expect(await goald.read("workspace/t/rolls.txt")).toBeUndefined();
    expect(await goald.read("workspace/t/.envrc")).toBeUndefined();
    const played = endedWith(0, await goald.run(["replay", file, "--json"], { env: { TMPDIR: goald.cwd } }));
    expect(linesOf(played).at(-1)).toMatchObject({ same: true, problems: [], events: { all: log.length - 1 } });
  });
});

describe("a saved namespace that ends each process", () => {
  const POISONED = [
    cell("import os\nclass P:\n    def __reduce__(self): return (os._exit, (1,))\nx = P()"),
    cell("append_to_file('lines.txt', 'one\\n')\n6 * 7"),
    cell("7 * 6"),
  ];

  const isCell = (callId: string): boolean => /^c\d+$/.test(callId);
  /** Runs the first cell, and the others in another process. `kills`: events at whose commit that process is killed, in turn. */
  async function runTwice(kills: readonly string[]) {
    await using server = await startOpenAIServer({ reply: numberedModel(POISONED), embeddings: null });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    endedWith(6, await goald.run([...RUN, "--max-steps", "1"]));
    const resume = ["resume", "t", "--max-steps", "none", "--json"];
    for (const at of kills) {
      const killed = await killUnder({ imports: [HOOK], env: { KILL_AT_EVENT: at } }, goald, resume);
      expect(killed).toMatchObject({ code: null, signal: "SIGKILL" });
    }
    if (kills.length === 0) endedWith(0, await goald.ask(["down"]));
    endedWith(0, await goald.run(kills.length === 0 ? resume : ["resume", "t", "--json"]));
    const { log, problems } = await lookInto(goald);
    expect(problems).toEqual([]);
    expect(await goald.read("workspace/t/lines.txt")).toBe("one\n");
    const shown = await goald.ask(["show", "t", "--step", "2"]);
    expect(shown.stdout).toContain("Your variables could not be loaded and are gone: os, P and x.");
    const finished = log.flatMap((event) => (event.type === "command-finished" ? [event] : []));
    const namespaces = log.flatMap((event) =>
      event.type === "namespace-saved" ? [[event.callId, event.definitions, event.values]] : [],
    );
    return {
      finished,
      namespaces,
      results: finished.map(({ callId, observation }) => [
        callId,
        observation.status,
        isCell(callId) ? observation.text : "",
      ]),
    };
  }

  it("is given up with the same result after kill -9 at any time, and no call is made twice", async () => {
    const { finished, ...whole } = await runTwice([]);
    expect(whole.results).toEqual([
      ["c1", "ok", expect.any(String)],
      ["c2.1", "ok", ""],
      ["c2", "ok", "42\nYour variables could not be loaded and are gone: os, P and x."],
      ["c3", "ok", "42"],
      ["c4", "ok", expect.any(String)],
    ]);
    const [, nested = 0, outer = 0] = finished.map(({ seq }) => seq);
    // Each time the command has written its line, and no event says so.
    expect(await runTwice([`1:${nested}:before`, `1:${outer}:before`])).toMatchObject(whole);
  });
});
