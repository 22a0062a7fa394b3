import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "@jest/globals";
import { loadRegistry } from "#commands/registry.ts";
import type { AgentSettings } from "#core/agent-settings.ts";
import { evolve } from "#core/evolve.ts";
import { initialState, isFinished } from "#core/state.ts";
import { createCommandSets } from "#loop/command-set.ts";
import { loadWords, type Words } from "#prompt/template.ts";
import { rebuildPrompt } from "#views/rebuild-prompt.ts";
import type { CellBehaviour } from "../helpers/fake-sandbox.ts";
import { done, type Loop, makeLoop, reply } from "../helpers/loop.ts";
import { closeProseLoops, makeProseLoop, python } from "../helpers/prose-loop.ts";

afterEach(closeProseLoops);

const textOf = (file: string): string =>
  readFileSync(`prompts/${file}.md`, "utf8")
    .replace(/^<!--.*?-->/s, "")
    .trim();
/** The end of the last message of each request. */
const lastLines = (loop: Loop): readonly string[] =>
  loop.model.requests.map(({ messages }) => messages.at(-1)?.content.split("\n\n").at(-1) ?? "");
const treeOf = (loop: Loop, request: number): unknown =>
  JSON.parse(/^\{"id":"0".*$/m.exec(loop.model.requests[request - 1]?.messages.at(-1)?.content ?? "")?.[0] ?? "null");

const think = (thought: string) => reply("think", { thought });
const set = (id: string, state: string) => reply("modify_task", { id, state });
const SCRIPT = [
  reply("add_task", { parent: "0", goal: "Write the post", subtasks: [{ goal: "Draft it" }] }),
  set("0.0.0", "in_progress"),
  think("It needs a title."),
  reply("write_to_file", { file: "post.md", text: "# Plans\n" }),
  think("Is it good?"),
  think("It may be good."),
  think("It is good."),
  reply("read_file", { file: "post.md" }),
  done("Written."),
  set("0", "verified"),
  done("Written."),
];

async function play(settings: Partial<AgentSettings>) {
  const loop = await makeLoop({ goals: ["Write a post about plans"], script: SCRIPT, settings });
  const state = await loop.run();
  return { loop, state };
}

/** Rebuilds the prompt of each request from the log. */
async function rebuildAll(loop: Loop, words: Words) {
  const registry = await loadRegistry(["commands"], { plan: { ready: true }, memories: { ready: true } });
  const commandsFor = createCommandSets(registry.all, { commands: {}, args: {} });
  const parts = { commandsFor, words, contextTokens: 32_000, replyTokens: 1_000 };
  let state = initialState;
  const rebuilt = [];
  for (const event of await loop.events()) {
    if (event.type === "model-asked") rebuilt.push(rebuildPrompt(event, state, [], parts));
    state = evolve(state, event);
  }
  return rebuilt;
}

describe("the requests of an agent with --plan required", () => {
  it("ask for a plan first, then end with what follows from the last action", async () => {
    const { loop, state } = await play({ plan: "required" });
    expect(isFinished(state)).toBe(true);
    expect(lastLines(loop)).toEqual([
      textOf("plan-start"),
      textOf("plan-idle"),
      textOf("plan-hint-next"),
      textOf("plan-hint-act"),
      textOf("plan-hint-files"),
      textOf("plan-hint-act"),
      textOf("plan-hint-act"),
      textOf("plan-hint-thoughts"),
      textOf("plan-hint-result"),
      // task_complete was refused: its result says why.
      expect.stringMatching(/^Decide which command to use next/),
      textOf("plan-done"),
    ]);
  });

  it("show the plan as it is before each step", async () => {
    const { loop } = await play({ plan: "required" });
    const goal = "Write a post about plans";
    expect(treeOf(loop, 1)).toEqual({ id: "0", goal, state: "open", subtasks: [] });
    const draft = { id: "0.0.0", goal: "Draft it", subtasks: [] };
    const post = { id: "0.0", goal: "Write the post" };
    expect(treeOf(loop, 3)).toEqual({
      ...{ id: "0", goal, state: "in_progress" },
      subtasks: [{ ...post, state: "in_progress", subtasks: [{ ...draft, state: "in_progress" }] }],
    });
    expect(treeOf(loop, 11)).toEqual({
      ...{ id: "0", goal, state: "verified" },
      subtasks: [{ ...post, state: "verified", subtasks: [{ ...draft, state: "verified" }] }],
    });
  });

  it("can be rebuilt exactly from the log, and not with other words (control)", async () => {
    const { loop } = await play({ plan: "required" });
    const words = await loadWords(["prompts"]);
    const rebuilt = await rebuildAll(loop, words);
    expect(rebuilt.map(({ exact }) => exact)).toEqual(SCRIPT.map(() => true));
    expect(rebuilt.map(({ messages }) => messages)).toEqual(loop.model.requests.map(({ messages }) => messages));
    const idle = { ...words["plan-idle"], text: "Pick a task." };
    const others = await rebuildAll(loop, { ...words, "plan-idle": idle });
    expect(others.map(({ exact }) => exact)).toEqual(SCRIPT.map((_reply, index) => index !== 1));
  });

  it("have no plan without the setting until the model makes one (control)", async () => {
    const { loop } = await play({ plan: "free" });
    expect(lastLines(loop)[0]).toMatch(/^This is where you start\. Decide/);
    expect(treeOf(loop, 1)).toBeNull();
    expect(lastLines(loop)[1]).toBe(textOf("plan-idle"));
    expect(treeOf(loop, 2)).toMatchObject({ id: "0", subtasks: [{ id: "0.0" }] });
  });
});

describe("an agent whose code manages its plan", () => {
  const cells: Readonly<Record<string, CellBehaviour>> = {
    plan: async (_cell, _host, { call }) => {
      await call("add_task", { parent: "0", goal: "Draft it" });
      await call("modify_task", { id: "0.0", state: "in_progress" });
    },
    write: async (_cell, _host, { call }) => {
      await call("think", { thought: "It needs a title." });
      await call("write_to_file", { file: "post.md", text: "# Plans\n" });
    },
    think: async (_cell, _host, { call }) => void (await call("think", { thought: "Good." })),
    look: async (_cell, _host, { call }) => void (await call("read_file", { file: "post.md" })),
  };

  it.each(["code", "react"] as const)("gets the hint on the newest thing that its code did: %s", async (form) => {
    const names = Object.keys(cells);
    const blockOf = (code: string, index: number): string =>
      form === "code" ? `I go on.\n\n${python(code)}` : `I go on.\nACTION ${index + 1}:\n${python(code)}`;
    const replies = [...names, "look"].map(blockOf);
    const { loop, request } = await makeProseLoop(form, replies, cells, {
      settings: { plan: "required", stepLimit: replies.length },
    });
    await loop.run();
    const hints = replies.map((_reply, index) => {
      const [content = ""] = request(index + 1).slice(-1);
      return content
        .split("\n\n")
        .filter((part) => !part.startsWith("THOUGHT"))
        .at(-1);
    });
    expect(hints).toEqual(
      ["plan-start", "plan-hint-next", "plan-hint-files", "plan-hint-act", "plan-hint-result"].map(textOf),
    );
  });
});
