import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { endedWith, errorOf, type Goald, jsonOf, makeGoald } from "../helpers/goald.ts";
import { replyWith, write } from "../helpers/numbered-model.ts";
import { type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";
import { problemsOfView } from "../helpers/view-schemas.ts";

interface Step {
  readonly step: number;
  readonly prompt: { readonly exact: boolean; readonly note: string; readonly messages: readonly object[] };
  readonly recallIds: readonly string[];
  readonly recalls: readonly { readonly id: string }[];
  readonly reply: { readonly text: string } | null;
}
/** The text is over 32 KB, so it is stored as a blob. */
const LONG = "A long line of words that fills the file. ".repeat(1_000);

describe("an agent that has finished", () => {
  let goald: Goald;
  let server: OpenAIServer;
  beforeAll(async () => {
    const think = (step: number): string => {
      if (step === 0) return replyWith(write("notes.md", LONG), "I write the notes.");
      if (step === 1) return "Prose, and no command.";
      if (step >= 2 && step < 14)
        return replyWith({ name: "read_file", args: { file: `in-${step}.md` } }, `I look for ${step}.`);
      return replyWith({ name: "task_complete", args: { reason: "All of it is in notes.md." } });
    };
    server = await startOpenAIServer({ reply: (_request, index) => think(index), embeddings: null });
    const env = {
      OPENAI_BASE_URL: server.baseUrl,
      GOALD_MEMORY_EMBEDDER: "offline",
      GOALD_MODELS_REPLY_TOKENS: "20000",
    };
    goald = await makeGoald(env);
    endedWith(0, await goald.ask(["run", "--name", "Foo", "--role", "r", "-g", "Write notes.md", "--continuous"]));
  });
  afterAll(async () => {
    await server.close();
    await goald[Symbol.asyncDispose]();
  });

  it("has a report: goals with their files, failures, cost, next steps", async () => {
    const report = endedWith(0, await goald.ask(["show", "foo", "--report"])).stdout;
    expect(report).toMatch(/^# Foo: report\n/);
    expect(report).toContain("1. Write notes.md\n   - Evidence: it names `notes.md` (step 1)\n");
    expect(report).toContain("> All of it is in notes.md.");
    expect(report).toContain("Failed commands: 12");
    expect(report).toContain("Replies that could not be parsed: 1");
    expect(report).toContain(`1 file in \`${goald.home}/workspace/foo\`.`);
    expect(report).toContain('`goald say foo "…"`');
  });

  it("has its facts as JSON", async () => {
    const facts = jsonOf(await goald.ask(["show", "foo", "--report", "--json"]));
    expect(problemsOfView("report", facts)).toBe("");
    expect(facts).toMatchObject({ id: "foo", state: "completed", troubles: { failed: 12, "bad reply": 1 } });
  });

  it("shows the exact prompt of any step", async () => {
    for (const step of [1, 2, 3, 14, 15]) {
      const shown = jsonOf<Step>(await goald.ask(["show", "foo", "--step", `${step}`, "--json"]));
      expect(problemsOfView("step", shown)).toBe("");
      expect(shown.prompt).toMatchObject({ exact: true, note: "" });
      expect(shown.prompt.messages).toEqual(server.chats[step - 1]?.messages);
      // The rows around the recalls come after them.
      expect(shown.recalls.map(({ id }) => id).slice(0, shown.recallIds.length)).toEqual(shown.recallIds);
    }
    const recalled = jsonOf<Step>(await goald.ask(["show", "foo", "--step", "14", "--json"]));
    expect(recalled.recalls.length).toBeGreaterThan(0);
  });

  it("shows the complete reply, the validated command, its result and its files", async () => {
    const first = jsonOf<Step>(await goald.ask(["show", "foo", "--step", "1", "--json"]));
    expect(first).toMatchObject({
      thoughts: { text: "I write the notes.", speak: "Now: write_to_file." },
      command: { name: "write_to_file", args: { file: "notes.md", text: LONG } },
      approval: { verdict: "approved", by: "policy" },
      result: { status: "ok", artifacts: ["notes.md"] },
      files: [{ path: "notes.md", operation: "write", bytes: LONG.length }],
    });
    expect(first.reply?.text).toBe(replyWith(write("notes.md", LONG), "I write the notes."));
    const rejected = jsonOf(await goald.ask(["show", "foo", "--step", "2", "--json"]));
    expect(rejected).toMatchObject({
      command: null,
      problems: [expect.stringContaining("no JSON object")],
      result: null,
    });
    const text = endedWith(0, await goald.ask(["show", "foo", "--step", "3"])).stdout;
    expect(text).toMatch(/^Step 3 of Foo \(foo\), turn 1, /);
    expect(text).toContain("Prompt, exactly as sent (its hash matches the request's)\n  --- system\n");
    expect(text).toContain('"name": "read_file"');
    expect(text).toContain("Result: failed, file-missing");
  });

  it("marks a prompt that it cannot rebuild exactly as a reconstruction", async () => {
    await goald.write("prompts/system.md", "## resources\nNothing but a pencil.");
    const shown = jsonOf<Step>(await goald.ask(["show", "foo", "--step", "1", "--json"]));
    expect(shown.prompt).toMatchObject({ exact: false, note: expect.stringContaining("A reconstruction") });
    expect(JSON.stringify(shown.prompt.messages)).toContain("Nothing but a pencil.");
    expect(endedWith(0, await goald.ask(["show", "foo", "--step", "1"])).stdout).toContain(
      "Prompt\n  A reconstruction",
    );
  });

  it("has no step that was not taken", async () => {
    const { code, message } = errorOf(endedWith(3, await goald.ask(["show", "foo", "--step", "99", "--json"])));
    expect(code).toBe("GOALD_NOT_FOUND");
    expect(message).toBe("Expected a step of foo, got 99: it has taken 15 steps.");
    endedWith(2, await goald.ask(["show", "foo", "--step", "x"]));
    endedWith(3, await goald.ask(["show", "nobody", "--report"]));
  });

  it("has the same facts in every list", async () => {
    for (const [name, args] of [
      ["ps", ["ps", "--json"]],
      ["show", ["show", "foo", "--json"]],
    ] as const)
      expect(problemsOfView(name, jsonOf(await goald.ask(args)))).toBe("");
  });
});
