import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { RecordedEvent } from "#core/event.ts";
import { endedWith, type Goald, linesOf, lookInto, makeGoald } from "../helpers/goald.ts";
import { append, ledgerText, numberedModel, write } from "../helpers/numbered-model.ts";
import { type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";

const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"];
const CALLS = [append("line 1\n"), write("other.txt", "first\n"), append("line 2\n"), write("other.txt", "second\n")];

/** Removes what differs only because the agents have different ids. */
const withoutRecalls = (events: readonly RecordedEvent[]): readonly unknown[] =>
  events.map((event) => (event.type === "model-asked" ? { ...event, recallIds: event.recallIds.length } : event));

describe("goald fork", () => {
  let goald: Goald;
  let server: OpenAIServer;
  let log: readonly RecordedEvent[];
  beforeAll(async () => {
    server = await startOpenAIServer({ reply: numberedModel(CALLS), embeddings: null });
    goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    endedWith(0, await goald.ask(RUN));
    ({ log } = await lookInto(goald));
  });
  afterAll(async () => {
    await server.close();
    await goald[Symbol.asyncDispose]();
  });

  it("creates a paused agent with the log and files of a past step, and leaves the original unchanged", async () => {
    const ended = endedWith(0, await goald.ask(["fork", "t", "--step", "3"]));
    expect(ended.stdout).toBe("t-2\n");
    expect(ended.stderr).toContain("It is paused. Go on with: goald resume t-2");
    expect(await goald.read("workspace/t-2/ledger.txt")).toBe(ledgerText(2));
    expect(await goald.read("workspace/t-2/other.txt")).toBe("first\n");
    expect(await goald.read("workspace/t/other.txt")).toBe("second\n");
    const { log: forked, problems } = await lookInto(goald, "t-2");
    expect(problems).toEqual([]);
    const end = log.findLast((event) => "step" in event && event.step === 3)?.seq ?? 0;
    expect(withoutRecalls(forked.slice(0, end))).toEqual(withoutRecalls(log.slice(0, end)));
    expect(forked.slice(end)).toMatchObject([
      {
        type: "agent-paused",
        code: "person",
        reason: "Forked from t as it was after step 3. It has not gone on since.",
      },
    ]);
    expect((await lookInto(goald)).log).toEqual(log);
  });

  it("continues from that step after a resume, in its own folder and with its memories", async () => {
    const asked = server.chats.length;
    endedWith(0, await goald.ask(["resume", "t-2", "--json"]));
    expect(await goald.read("workspace/t-2/other.txt")).toBe("second\n");
    expect(server.chats.length - asked).toBe(2);
    expect(JSON.stringify(server.chats[asked]?.messages)).toContain("Task 3 of 4");
    const { log: forked, problems } = await lookInto(goald, "t-2");
    expect([problems, forked.at(-1)?.type]).toEqual([[], "turn-finished"]);
  });

  it("accepts other goals and another name; on a finished agent, new goals open the next turn", async () => {
    const args = ["fork", "t", "--step", "5", "--goal", "Now in French", "--name", "Tee", "--json"];
    const [line] = linesOf(endedWith(0, await goald.ask(args)));
    expect(line).toMatchObject({ agent: "tee", name: "Tee", from: "t", step: 5, files: 2 });
    const { log: forked, problems } = await lookInto(goald, "tee");
    expect(problems).toEqual([]);
    expect(forked.slice(-5).map(({ type }) => type)).toEqual([
      "turn-remembered",
      "turn-finished",
      "turn-started",
      "goals-changed",
      "agent-paused",
    ]);
    expect(forked[0]).toMatchObject({ name: "Tee" });
    endedWith(0, await goald.ask(["resume", "tee", "--json"]));
    const [system, memory] = server.chats.at(-1)?.messages.map(({ content }) => content) ?? [];
    expect(system).toContain("1. Now in French");
    expect(memory).toMatch(/^Your memory of turn 1, [\s\S]*\n4\. write_to_file, [\s\S]*\ntext:\nsecond\n/);
  });

  it("can start before the first step, with an empty folder", async () => {
    endedWith(0, await goald.ask(["fork", "t", "--step", "0", "--name", "Zero"]));
    expect(await goald.read("workspace/zero/ledger.txt")).toBeUndefined();
    expect((await lookInto(goald, "zero")).log.map(({ type }) => type)).toEqual(["agent-created", "agent-paused"]);
  });

  it.each([
    ["a step that was not taken", ["fork", "t", "--step", "9"], 3],
    ["an unknown agent", ["fork", "nobody", "--step", "1"], 3],
    ["no step", ["fork", "t"], 2],
    ["six goals", ["fork", "t", "--step", "1", ...Array.from({ length: 6 }, () => ["-g", "g"]).flat()], 2],
  ])("refuses %s", async (_title, args, code) => {
    const before = (await linesOf(await goald.ask(["ps", "-a", "--json"])))[0];
    endedWith(code, await goald.ask(args));
    expect((await linesOf(await goald.ask(["ps", "-a", "--json"])))[0]).toEqual(before);
  });
});
