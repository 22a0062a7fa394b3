import { describe, expect, it } from "@jest/globals";
import { endedWith, errorOf, lookInto, makeGoald } from "../helpers/goald.ts";
import { numberedModel, replyWith, write } from "../helpers/numbered-model.ts";
import type { ChatRequest } from "../helpers/openai-answers.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";

const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"];
const EIGHT = [
  "write_to_file",
  "read_file",
  "append_to_file",
  "edit_file",
  "move_file",
  "delete_file",
  "search_files",
  "do_nothing",
  "task_complete",
];
/** The commands that the prompt lists. */
const listed = ({ messages: [system] }: ChatRequest): readonly string[] =>
  [...(system?.content ?? "").matchAll(/^\d+\. [^\n:]+: "(\w+)", args:/gm)].map(([, name = ""]) => name);
const grammarOf = (chat: ChatRequest | undefined): string => JSON.stringify(chat?.response_format ?? {});
const own = `export default { name: "bake", label: "Bake", summary: "Bakes.", effect: "pure",
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  run: async () => ({ status: "ok", text: "Baked.", source: "goald", artifacts: [] }) };`;

describe("goald run --commands", () => {
  it("offers these groups and names only: in the prompt, in the grammar, and when they run", async () => {
    const replies = [
      replyWith({ name: "google", args: { input: "bread" } }),
      replyWith(write("a.txt", "x")),
      replyWith({ name: "task_complete", args: { reason: "Done." } }),
    ];
    await using server = await startOpenAIServer({ reply: replies, embeddings: null });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    await goald.write("commands/bake.js", own);
    endedWith(0, await goald.ask([...RUN, "--commands", "loop, files"]));
    const [first] = server.chats;
    expect(listed(first as ChatRequest)).toEqual(EIGHT);
    expect(grammarOf(first)).toContain('"write_to_file"');
    expect(grammarOf(first)).not.toContain('"google"');
    const { log } = await lookInto(goald);
    expect(log[0]).toMatchObject({ commands: "files,loop" });
    const rejected = log.find(({ type }) => type === "reply-rejected");
    expect(rejected).toMatchObject({
      problems: [expect.stringMatching(/^You may not use google here\. Your commands are: write_to_file, /)],
    });
    expect(log.filter(({ type }) => type === "command-started")).toHaveLength(2);
    expect(server.violations).toEqual([]);
  });

  it("keeps the profile over a kill, takes another at resume, and offers own commands by name and group", async () => {
    await using server = await startOpenAIServer({
      reply: numberedModel(Array(9).fill({ name: "bake", args: {} })),
      embeddings: null,
    });
    await using goald = await makeGoald({
      OPENAI_BASE_URL: server.baseUrl,
      GOALD_MEMORY_EMBEDDER: "offline",
      GOALD_AGENTS_COMMANDS: "bake",
    });
    await goald.write("commands/bake.js", own);
    const shown = async (...flags: string[]): Promise<readonly string[]> => {
      const seen = server.chats.length;
      await goald.ask(["resume", "t", "--json", "--max-steps", "1", ...flags]);
      return listed(server.chats[seen] as ChatRequest);
    };
    await goald.ask([...RUN, "--continuous-limit", "1"]);
    expect(listed(server.chats[0] as ChatRequest)).toEqual(["bake", "task_complete"]);
    expect(await shown()).toEqual(["bake", "task_complete"]);
    expect(await shown("--commands", "own,read_file")).toEqual(["read_file", "bake", "task_complete"]);
    expect(await shown("--commands", "all")).toEqual(expect.arrayContaining(["google", "bake", "write_to_file"]));
  });

  it("refuses unknown names with the list, and creates nothing", async () => {
    await using goald = await makeGoald({ GOALD_MEMORY_EMBEDDER: "offline", OPENAI_API_KEY: "k" });
    const refused = await goald.ask([...RUN, "--commands", "files,shell"]);
    expect(refused.code).toBe(2);
    expect(errorOf(refused)).toMatchObject({
      code: "GOALD_USAGE",
      message: "There is no command and no group shell.",
      hint: expect.stringMatching(/^Groups: files, web, .* or all\. Commands: google, /),
    });
    expect((await lookInto(goald)).log).toEqual([]);
  });
});

describe("goald run --plan required", () => {
  it("needs the plan's commands, and keeps the agent from its end until the plan is done", async () => {
    const replies = [
      replyWith({ name: "task_complete", args: { reason: "Done." } }),
      replyWith({ name: "add_task", args: { parent: "0", goal: "Bake", subtasks: [{ goal: "Knead" }] } }),
      ...["0.0.0", "0.0", "0"].map((id) => replyWith({ name: "modify_task", args: { id, state: "verified" } })),
      replyWith({ name: "task_complete", args: { reason: "Done." } }),
    ];
    await using server = await startOpenAIServer({ reply: replies, embeddings: null });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    const refused = await goald.ask([...RUN, "--plan", "required", "--commands", "files"]);
    expect([refused.code, server.chats]).toEqual([2, []]);
    expect(errorOf(refused)).toMatchObject({
      code: "GOALD_USAGE",
      message: "--plan required needs add_task and modify_task, and --commands files leaves them out.",
      hint: "Add the group plan: --commands files,plan",
    });
    const planned = [...RUN, "--plan", "required", "--commands", "files,plan", "--max-steps", "1"];
    expect((await goald.ask(planned)).code).toBe(6);
    const without = await goald.ask(["resume", "t", "--json", "--commands", "files"]);
    expect([without.code, errorOf(without).message]).toEqual([2, expect.stringContaining("--commands files leaves")]);
    endedWith(0, await goald.ask(["resume", "t", "--json", "--max-steps", "9"]));
    const { log } = await lookInto(goald);
    expect(log[0]).toMatchObject({ type: "agent-created", plan: "required" });
    const ends = log.filter(({ type }) => /^(?:command-denied|task-|turn-finished)/.test(type)).map(({ type }) => type);
    expect(ends).toEqual(["command-denied", "task-added", ...Array(3).fill("task-changed"), "turn-finished"]);
    expect(server.violations).toEqual([]);
  });
});
