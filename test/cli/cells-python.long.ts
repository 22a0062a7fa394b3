import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { endedWith, linesOf, lookInto, makeGoald } from "../helpers/goald.ts";
import { numberedModel } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";

const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"];
const cell = (code: string) => ({ name: "run_code", args: { language: "python", code } });
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
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_EMBEDDER: "offline" });
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
