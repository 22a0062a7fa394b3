import { beforeAll, describe, expect, it } from "@jest/globals";
import { ALL_READY, loadRegistry } from "#commands/registry.ts";
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
});
