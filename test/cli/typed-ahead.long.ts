import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { endedWith, lookInto, makeGoald, type Terminal } from "../helpers/goald.ts";
import { ledger, ledgerText, numberedModel } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";

/** Makes a home whose model holds back each reply until one call of `answer`. */
async function atTerminal(tasks: number) {
  const think = numberedModel(ledger(tasks));
  const gates: PromiseWithResolvers<void>[] = [];
  const gate = (index: number): PromiseWithResolvers<void> => {
    gates[index] ??= Promise.withResolvers<void>();
    return gates[index];
  };
  let asked = 0;
  let answered = 0;
  const server = await startOpenAIServer({
    reply: async (request) => {
      await gate(asked++).promise;
      return think(request);
    },
    embeddings: null,
  });
  const goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
  return {
    goald,
    server,
    answer: () => gate(answered++).resolve(),
    [Symbol.asyncDispose]: async () => {
      await goald[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

const RUN = ["run", "--name", "T", "--goal", "g"];
const readable = ({ shown }: Terminal): string => stripVTControlCharacters(shown).replaceAll("\r", "");

describe.each([
  ["without a daemon", false],
  ["with a daemon", true],
])("text typed while the agent works, %s", (_where, hasDaemon) => {
  async function open(tasks: number) {
    const home = await atTerminal(tasks);
    if (hasDaemon) endedWith(0, await home.goald.ask(["up"]));
    const terminal = home.goald.openTerminal([...RUN, "--approve", "always"]);
    home.answer();
    await terminal.see("Run it? ");
    return { ...home, home, terminal };
  }

  it("approves nothing, is shown, and reaches the model as a message", async () => {
    const { home, goald, server, terminal, answer } = await open(3);
    await using _home = home;
    terminal.type("y\r");
    await terminal.see("Step 2");
    terminal.type("y\r");
    terminal.type("use shorter lines\r");
    // The echo shows that the process has read the line.
    await terminal.see("use shorter lines");
    answer();
    await terminal.see("Kept for the next step: y");
    await terminal.see("Run it? ");
    // The second command is shown, and nothing has approved it.
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(1));
    terminal.type("y\r");
    await terminal.see("Step 3");
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(2));
    answer();
    await terminal.see("Run it? ");
    const words = server.chats
      .flatMap(({ messages }) => messages)
      .filter(({ content }) => /^y\nuse shorter lines$/m.test(content));
    expect(words.length).toBeGreaterThan(0);
    terminal.type("n\r");
    endedWith(11, await terminal.ended);
    const { log } = await lookInto(goald);
    expect(log.filter(({ type }) => type === "message-received")).toHaveLength(1);
    expect(log.filter((event) => event.type === "command-approved")).toHaveLength(2);
  });

  it("and finished only after the command is shown approves nothing either", async () => {
    const { home, goald, terminal, answer } = await open(2);
    await using _home = home;
    terminal.type("y\r");
    await terminal.see("Step 2 · asking gpt-4.1");
    terminal.type("y");
    await terminal.see("y");
    answer();
    await terminal.see("Run it? ");
    terminal.type("\r");
    await terminal.see("You began to type that before the command was shown.");
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(1));
    await terminal.see("Run it? ");
    terminal.type("y\r");
    await terminal.see("Step 3");
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(2));
    terminal.type("\x03");
    answer();
    endedWith(130, await terminal.ended);
  });

  it("is shown with the call that sends it if the run ends without another question", async () => {
    const { home, terminal, answer } = await open(2);
    await using _home = home;
    terminal.type("y -9\r");
    await terminal.see("Step 2");
    terminal.type("and a summary\r");
    await terminal.see("and a summary");
    answer();
    answer();
    endedWith(0, await terminal.ended);
    expect(readable(terminal)).toMatch(/Not sent: and a summary\n {2}Send it with: .*goald say t "…"/);
  });
});
