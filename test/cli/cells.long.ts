import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { endedWith, errorOf, linesOf, lookInto, makeGoald } from "../helpers/goald.ts";
import { highestTask, numberedModel, replyWith } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";

const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"];
const cell = (code: string) => ({ name: "run_code", args: { code } });
const CELLS = [
  cell('numbers = [1, 2, 3]\nwrite_to_file("a.txt", "\\n".join(map(str, numbers)))\nlen(numbers)'),
  cell("numbers.append(4)\nnumbers.nothing.here"),
  cell('name = agent.run("Name the file.", str)\n[name, read_file(name), numbers]'),
];
const model = numberedModel(CELLS);

/** A home whose model runs three cells; the last one gives it a sub-task. */
async function openHome() {
  const server = await startOpenAIServer({
    reply: (request) => {
      const isSubtask = request.messages.some(({ content }) => content.includes("Name the file."));
      if (!isSubtask || highestTask(request) > 3) return model(request);
      return request.messages.at(-1)?.content.includes("Name the file.") || highestTask(request) === 0
        ? replyWith({ name: "task_complete", args: { result: "a.txt" } })
        : model(request);
    },
    embeddings: null,
  });
  const goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
  return {
    goald,
    [Symbol.asyncDispose]: async () => {
      await goald[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe("cells of a run from the terminal", () => {
  it("keep their names, call commands and the model, and replay from a recording without a process", async () => {
    await using home = await openHome();
    const { goald } = home;
    const file = join(goald.cwd, "t.ndjson");
    endedWith(0, await goald.ask([...RUN, "--record", file]));
    const { log, problems } = await lookInto(goald);
    expect(problems).toEqual([]);
    const results = log.flatMap((event) =>
      event.type === "command-finished" && /^c\d+$/.test(event.callId) ? [event.observation] : [],
    );
    expect(results).toMatchObject([
      { status: "ok", text: "3" },
      { status: "failed", code: "cell-failed", text: expect.stringContaining("Line 2: numbers.nothing.here") },
      { status: "ok", text: expect.stringContaining("a.txt") },
      { status: "ok" },
    ]);
    expect(await goald.read("workspace/t/a.txt")).toBe("1\n2\n3");

    const replay = () => goald.ask(["replay", file, "--json"], { env: { TMPDIR: goald.cwd } });
    const played = endedWith(0, await replay());
    expect(linesOf(played).at(-1)).toMatchObject({ same: true, problems: [], events: { all: log.length - 1 } });

    const text = await readFile(file, "utf8");
    const lines = text.split("\n");
    expect(lines.filter((line) => line.includes('"type":"cell-ask"')).length).toBeGreaterThanOrEqual(3);
    // Control: other code asks for something else.
    await writeFile(
      file,
      text.replace('"what":"call","name":"write_to_file"', '"what":"call","name":"append_to_file"'),
    );
    endedWith(1, await replay());
    // A stranger's recording.
    await writeFile(file, text.replace('"what":"call"', '"what":"everything"'));
    expect(errorOf(await replay())).toMatchObject({ message: expect.stringContaining("type cell-ask") });
  });
});
