import { afterEach, describe, expect, it } from "@jest/globals";
import { loadRegistry } from "#commands/registry.ts";
import { evolve } from "#core/evolve.ts";
import { initialState } from "#core/state.ts";
import { createCommandSets } from "#loop/command-set.ts";
import { loadWords } from "#prompt/words.ts";
import { asRecalled, rebuildPrompt } from "#views/whole-step.ts";
import { cellValue } from "../helpers/fake-sandbox.ts";
import { memoryRows } from "../helpers/memory-rows.ts";
import { closeProseLoops, makeProseLoop, python } from "../helpers/prose-loop.ts";

afterEach(closeProseLoops);

/** For each request: whether its prompt can be rebuilt exactly, and how that ends. */
async function rebuildAll(form: "plan" | "react" | "code", replies: readonly string[]) {
  const services = {
    cells: { ready: true },
    methods: { ready: true },
    plan: { ready: true },
    memories: { ready: true },
  } as const;
  const cells = { "1": () => ({ value: cellValue(1) }), "stop()": () => ({ stop: {} }) };
  const { loop, server } = await makeProseLoop(form, replies, cells, { services });
  await loop.run();
  // Replies that are left over belong to a second turn.
  const words = { type: "say", from: "ada", text: "And once more." } as const;
  await loop.store.deliver(loop.row.id, "say", words, loop.clock.now().toISOString());
  if (server.chats.length < replies.length) await loop.run();
  const registry = await loadRegistry(["commands"], services);
  const commandsFor = createCommandSets(registry.all, { commands: {}, args: {} });
  const parts = { commandsFor, words: await loadWords(["prompts"]), contextTokens: 32_000, replyTokens: 1_000 };
  let state = initialState;
  const rebuilt = [];
  for (const event of await loop.events()) {
    if (event.type === "model-asked") rebuilt.push(rebuildPrompt(event, state, [], parts));
    state = evolve(state, event);
  }
  return { rebuilt, chats: server.chats };
}

const act = (action: string, args: object = {}): string => JSON.stringify({ action, args });
const PLANNED = [
  act("think", { thought: "One file." }),
  "No action.",
  act("write", { path: "a.md", content: "a" }),
  act("modify_task", { id: "0", state: "verified" }),
  act("finish"),
];

describe("the prompt of a step", () => {
  it.each([
    ["plan", PLANNED],
    ["react", [`Go.\nACTION 1:\n${python("1")}`, "No action.", `End.\nACTION 3:\n${python("stop()")}`]],
    ["code", [`Go.\n${python("1")}`, "Done.", `Again.\n${python("1")}`, "Done again."]],
  ] as const)("is rebuilt exactly in the form %s", async (form, replies) => {
    const { rebuilt, chats } = await rebuildAll(form, replies);
    expect(rebuilt.map(({ exact, note }) => [exact, note])).toEqual(replies.map(() => [true, ""]));
    expect(rebuilt.map(({ messages }) => messages)).toEqual(chats.map(({ messages }) => messages));
    const later = rebuilt.slice(2).flatMap(({ messages }) => messages.map(({ content }) => content));
    const isLater = form === "code";
    expect(later.filter((content) => content.startsWith("Your memory of turn 1,"))).toHaveLength(isLater ? 2 : 0);
    expect(later.filter((content) => content.includes("And once more."))).toHaveLength(isLater ? 2 : 0);
  });
});

describe("a past fact in the prompt of an older step", () => {
  it("has the mark only when it was past by then, and not while it is pinned", () => {
    const row = memoryRows().add("foo", "depot: hour: 6", { kind: "fact", factKey: "k" });
    const closed = { by: "foo/20.1", step: 3 };
    const marks = [5, 20, 21].map((seq) => asRecalled({ ...row, closed }, seq).closed);
    expect(marks).toEqual([undefined, undefined, closed]);
    expect(asRecalled({ ...row, closed: { by: "foo/+2", step: null } }, 5).closed).toBeDefined();
    expect(asRecalled({ ...row, closed, pinned: true }, 21).closed).toBeUndefined();
  });
});
