import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { endedWith, type Goald, makeGoald } from "../helpers/goald.ts";
import { ledger, onceATurn } from "../helpers/models.ts";
import { type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";

describe("an agent that a person names", () => {
  let server: OpenAIServer;
  let goald: Goald;
  const ask = (...args: readonly string[]) => goald.ask(args);
  const runIn = (name: string, ...more: readonly string[]) =>
    ask("run", "--name", name, "--goal", "g", "--continuous", ...more);
  const ids = async (): Promise<readonly string[]> =>
    (JSON.parse((await ask("ps", "-a", "--json")).stdout).agents as { id: string }[]).map(({ id }) => id).sort();

  beforeAll(async () => {
    server = await startOpenAIServer({ reply: onceATurn(ledger(1)), embeddings: null });
    goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    for (const name of ["Chef", "Cheese", "Baker"]) endedWith(0, await runIn(name));
  });
  afterAll(async () => {
    await goald[Symbol.asyncDispose]();
    await server.close();
  });

  it("is found by the beginning of its id, where only one begins so", async () => {
    const found = endedWith(0, await ask("show", "bak"));
    expect(found.stdout).toContain("Baker (baker)");
    expect(found.stderr).toContain("Using baker.");
    const several = endedWith(3, await ask("show", "che"));
    expect(several.stderr).toContain("Several ids begin so: chef, cheese");
    expect(endedWith(3, await ask("show", "cheff")).stderr).toContain("Did you mean chef?");
    // Two neighbours that changed places are nearer than two other letters.
    for (const name of ["Bad", "Big"]) endedWith(0, await runIn(name));
    expect(endedWith(3, await ask("show", "bgi")).stderr).toContain("Did you mean big?");
    // An exact id is never taken for the beginning of another one.
    endedWith(0, await runIn("Chef 2"));
    expect(endedWith(0, await ask("show", "chef")).stdout).toContain("Chef (chef)");
    expect(endedWith(3, await ask("show", "nobody")).stderr).toContain("There are: ");
  });

  it("needs no name where only one could be meant, and is never guessed among several", async () => {
    expect(endedWith(2, await ask("approve")).stderr).toContain("No agent could be meant.");
    endedWith(0, await ask("run", "-d", "--name", "Waiter", "--goal", "g", "--approve", "always"));
    const terminal = goald.openTerminal(["attach"]);
    await terminal.see("Run it? ");
    terminal.type("\x03");
    endedWith(0, await terminal.ended);
    endedWith(0, await ask("run", "-d", "--name", "Waiter", "--goal", "g", "--approve", "always"));
    const second = goald.openTerminal(["attach", "waiter-2"]);
    await second.see("Run it? ");
    second.type("\x03");
    endedWith(0, await second.ended);
    expect(endedWith(2, await ask("approve")).stderr).toContain("Name one: waiter, waiter-2");
    expect(endedWith(0, await ask("stop", "waiter", "waiter-2")).stdout).toMatch(
      /waiter is stopped[\s\S]*waiter-2 is stopped/,
    );
  });

  it("is asked about by a resume without a name when a person stopped it", async () => {
    const terminal = goald.openTerminal(["resume"]);
    await terminal.answer("A person stopped it. Continue waiter", "n");
    endedWith(0, await terminal.ended);
    expect(JSON.parse((await ask("show", "waiter-2", "--json")).stdout)).toMatchObject({ state: "stopped" });
  });

  it("is removed with the others that have ended, and none when one is unknown", async () => {
    endedWith(3, await ask("rm", "-f", "baker", "zzz"));
    expect(await ids()).toContain("baker");
    endedWith(0, await ask("rm", "-f", "bad", "baker", "big", "waiter"));
    expect(await ids()).toEqual(["cheese", "chef", "chef-2", "waiter-2"]);
    endedWith(2, await ask("rm"));
    endedWith(0, await ask("rm", "--ended", "-f"));
    expect(await ids()).toEqual([]);
  });

  it("has a plan that says what --add changes, and an answer that does not contradict itself", async () => {
    endedWith(6, await runIn("Planner", "--max-steps", "1"));
    const added = endedWith(0, await ask("plan", "planner", "--add", "Ask for a quote"));
    const told = "From now on it can finish only when each task is verified or abandoned.";
    expect(added.stdout).toContain(told);
    expect(endedWith(0, await ask("plan", "planner", "--add", "Ask again")).stdout).not.toContain(told);
  });
});

describe("a verb that does not exist", () => {
  it.each([
    ["cost", "Did you mean goald show ID?"],
    ["prune", "Did you mean goald rm --ended?"],
    ["login", "Did you mean goald doctor?"],
    ["sohw", "(Did you mean show?)"],
    ["shw", "Did you mean show?"],
    ["auth", "See what there is"],
    ["cron", "See what there is"],
  ])("%s: %s", async (word, hint) => {
    await using goald = await makeGoald();
    expect(endedWith(2, await goald.ask([word])).stderr).toContain(hint.replace(/^\((.*)\)$/, "$1"));
  });
});
