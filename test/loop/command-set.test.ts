import { beforeAll, describe, expect, it } from "@jest/globals";
import { ALL_READY, loadRegistry } from "#commands/registry.ts";
import { createPlan } from "#core/plan.ts";
import { initialState } from "#core/state.ts";
import { type CommandsFor, createCommandSets } from "#loop/command-set.ts";
import { buildPrompt } from "#prompt/build.ts";
import { inputWith, stateWith } from "../prompt/fixtures.ts";

let commandsFor: CommandsFor;
beforeAll(async () => {
  const { all } = await loadRegistry(["commands"], ALL_READY);
  commandsFor = createCommandSets(all, { commands: {}, args: {} });
});
const stateOf = (approve: "always" | "risky" | "never") =>
  stateWith([], { settings: { ...initialState.settings, approve } });

describe("the commands that an agent may use", () => {
  it.each(["always", "risky"] as const)(
    "include ask_user with --approve %s, and its prompt does not say that nobody is there",
    (approve) => {
      const state = stateOf(approve);
      const { commandList, asksPerson, replySchema } = commandsFor(state);
      const [system] = buildPrompt(inputWith({ state, commandList, asksPerson })).messages;
      expect(system?.content).toContain('"ask_user"');
      expect(system?.content).not.toMatch(/nobody is there/);
      expect(JSON.stringify(replySchema)).toContain('"ask_user"');
    },
  );

  it("lack ask_user with --approve never, and its prompt says that nobody is there", () => {
    const state = stateOf("never");
    const { commandList, asksPerson, replySchema } = commandsFor(state);
    const [system] = buildPrompt(inputWith({ state, commandList, asksPerson })).messages;
    expect(system?.content).not.toContain("ask_user");
    expect(system?.content).toMatch(/nobody is there/);
    expect(JSON.stringify(replySchema)).not.toContain("ask_user");
    expect(JSON.stringify(replySchema)).toContain('"task_complete"');
  });

  it("are rendered once per set, so that prompts stay the same object", () => {
    expect(commandsFor(stateOf("never"))).toBe(commandsFor(stateOf("never")));
    expect(commandsFor(stateOf("always"))).toBe(commandsFor(stateOf("risky")));
  });

  it.each(["plan", "memory"])(
    "make the prompt, the schema and the tools as they would be without the group %s, when the profile leaves it out",
    async (left) => {
      const { all } = await loadRegistry(["commands"], ALL_READY);
      const before = createCommandSets(
        all.filter(({ group }) => group !== left),
        { commands: {}, args: {} },
      );
      const others = [...new Set(all.map(({ group }) => group))].filter((group) => group !== left).join(",");
      const stateWithout = (commands: string | null) =>
        stateWith([], { plan: createPlan(["left"]), settings: { ...initialState.settings, commands } });
      const shown = (sets: CommandsFor, commands: string | null, plan = true) => {
        const state = plan ? stateWithout(commands) : { ...stateWithout(commands), plan: null };
        const { commandList, asksPerson, replySchema, tools } = sets(state);
        return { replySchema, tools, messages: buildPrompt(inputWith({ state, commandList, asksPerson })).messages };
      };
      expect(shown(commandsFor, others, left === "plan")).toEqual(shown(before, null, false));
      expect(shown(commandsFor, null, false)).not.toEqual(shown(before, null, false));
    },
  );
});
