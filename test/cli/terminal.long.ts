import { once } from "node:events";
import { readFile, stat } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { USUAL_PORTS } from "#model/check-server.ts";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, type Goald, lookInto, makeGoald, type Terminal } from "../helpers/goald.ts";
import { ledger, ledgerText, numberedModel } from "../helpers/models.ts";
import { type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";
import { screenOf } from "../helpers/screen.ts";

const KEY = "sk-planted-6Tz1bV8mKe4";
const RELAY = fileURLToPath(new URL("../helpers/relay-openai.child.ts", import.meta.url));
const NEW_AGENT = ["run", "--name", "T", "--goal", "g"];

/** Makes a home whose model appends lines. */
const atTerminal = (tasks: number) => makeDaemonHome(ledger(tasks));

const readable = ({ shown }: Terminal): string => screenOf(shown);

describe("the set-up on a terminal", () => {
  it.concurrent("asks for name, role, goals and terms in turn, then shows each command before it runs", async () => {
    await using home = await atTerminal(1);
    const { goald, server } = home;
    const terminal = goald.openTerminal("run");
    await terminal.answer("AI name [Goald]: ", "Foo");
    await terminal.answer("Foo is [", "a counter of lines");
    await terminal.answer("Goal 1: ", "Count to one");
    await terminal.answer("Goal 2: ", "Stop");
    await terminal.answer("Goal 3: ", "");
    await terminal.answer("Ask before which commands: all, risky or none? [all] ", "");
    await terminal.answer("Budget in US dollars, or none [5]: ", "2");
    await terminal.see("It works with gpt-4.1 at ");
    await terminal.see("asks before each command, and spends at most $2");
    expect(server.requests).toEqual([]);
    await terminal.answer("Start? [Y/n] ", "");
    await terminal.see(`works in ${goald.home}/workspace/foo`);
    await terminal.see("Thoughts:");
    await terminal.see("append_to_file");
    await terminal.see("Run it? ");
    // The command is shown and pending, and has not run yet.
    expect(await goald.read("workspace/foo/ledger.txt")).toBeUndefined();
    terminal.type("y\r");
    await terminal.see("Result");
    await terminal.answer("Run it? ", "y");
    const ended = endedWith(0, await terminal.ended);
    expect(await goald.read("workspace/foo/ledger.txt")).toBe(ledgerText(1));
    const system = server.chats[0]?.messages[0]?.content ?? "";
    expect(system).toContain("You are Foo, a counter of lines");
    expect(system).toContain("1. Count to one\n2. Stop\n");
    expect(ended.stdout).toContain("\x1b[");
    expect(readable(terminal)).toMatch(
      /2 steps, 200 tokens in and \d+ out, \$0\.\d+\.\nWorkspace: \/.*\/workspace\/foo\n$/,
    );
  });

  it.concurrent("does not ask for what options say, and starts nothing after no", async () => {
    await using home = await atTerminal(0);
    const terminal = home.goald.openTerminal("run --continuous --budget 1");
    for (const question of ["AI name [Goald]: ", "Goald is [", "Goal 1: "]) await terminal.answer(question, "");
    await terminal.see("asks before no command");
    await terminal.answer("Start? [Y/n] ", "n");
    endedWith(0, await terminal.ended);
    expect(readable(terminal)).not.toMatch(/Ask before|Budget/);
    expect(await home.goald.json("ps")).toEqual({ agents: [] });
    expect(home.server.requests).toEqual([]);
  });

  it.concurrent("offers to go on with the last unfinished agent; n sets up a new one, leaving none", async () => {
    await using home = await atTerminal(1);
    const { goald } = home;
    const first = goald.openTerminal(NEW_AGENT);
    await first.answer("Run it? ", "n");
    expect(endedWith(11, await first.ended).stdout).toContain("Go on with: goald resume t");
    expect(endedWith(2, await goald.ask("resume t")).stderr).toContain("no terminal to ask on");
    const second = goald.openTerminal([]);
    await second.see("Your last agent is not finished yet: T, ");
    await second.answer("Go on with it? [Y/n] ", "n");
    await second.see("AI name [Goald]: ");
    second.type("\x04");
    endedWith(130, await second.ended);
    const third = goald.openTerminal("run");
    await third.answer("Go on with it? [Y/n] ", "y");
    await third.answer("Run it? ", "y -9");
    endedWith(0, await third.ended);
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(1));
    expect(await goald.json("ps")).toMatchObject({ agents: [{ id: "t", state: "completed" }] });
  });
});

describe("the approval question on a terminal", () => {
  it.concurrent("accepts y, or y -N for several commands, and appears again after what is neither", async () => {
    await using home = await atTerminal(5);
    const { goald } = home;
    const terminal = goald.openTerminal(NEW_AGENT);
    await terminal.answer("Run it? ", "y -0");
    await terminal.see("Nothing was run.");
    await terminal.see("Run it? ");
    expect(JSON.stringify((await lookInto(goald)).log)).not.toContain("command-started");
    terminal.type("y\r");
    await terminal.answer("Run it? ", "y -3");
    await terminal.see("Task 5 of 5");
    await terminal.see("Run it? ");
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(4));
    terminal.type("Y -2\r");
    endedWith(0, await terminal.ended);
    expect(readable(terminal).match(/Run it\?/g)).toHaveLength(4);
    const { log } = await lookInto(goald);
    const by = log.flatMap((event) => (event.type === "command-approved" ? [event.by] : []));
    const earlier = "earlier-approval";
    expect(by).toEqual(["person", "person", earlier, earlier, "person", earlier]);
  });

  it.concurrent("accepts feedback: the command does not run, and the words are in the next request to the model", async () => {
    await using home = await atTerminal(2);
    const { goald, server } = home;
    const terminal = goald.openTerminal(NEW_AGENT);
    await terminal.answer("Run it? ", "Write \x1b[31mplease\x1b[0m into another file");
    await terminal.see("Not run; your words:");
    await terminal.answer("Run it? ", "n");
    endedWith(11, await terminal.ended);
    expect(await goald.read("workspace/t/ledger.txt")).toBeUndefined();
    expect(server.chats).toHaveLength(2);
    const words = server.chats[1]?.messages.find(({ content }) => content.includes("was not run"));
    expect(words?.role).toBe("user");
    expect(words?.content).toMatch(/<words-\w+>\n?Write please into another file\n?<\/words-\w+>/);
  });
});

it.concurrent("SIGTERM ends a question that waits on a terminal (exit 130), and a resume asks it again", async () => {
  await using home = await atTerminal(1);
  const { goald } = home;
  const terminal = goald.openTerminal(NEW_AGENT, { shell: 'echo $$ >pid; exec "$@"' });
  await terminal.see("Run it? ");
  process.kill(Number(await readFile(join(goald.cwd, "pid"), "utf8")), "SIGTERM");
  endedWith(130, await terminal.ended);
  const again = goald.openTerminal("resume");
  await again.see("append_to_file");
  await again.answer("Run it? ", "y -2");
  endedWith(0, await again.ended);
  expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(1));
});

describe("without a key, on a terminal", () => {
  const noServer = { OPENAI_BASE_URL: undefined };

  it.concurrent("the choices are listed and none is the default; the demo plays, and the typed agent is kept", async () => {
    await using goald = await makeGoald();
    const terminal = goald.openTerminal(NEW_AGENT);
    await terminal.see("There is no model to talk to yet. You can:");
    await terminal.see("type the address of another server");
    await terminal.see("paste an OpenAI key");
    await terminal.see("watch the demo");
    await terminal.answer("Your choice (1 to ", "");
    await terminal.see("Type a number from 1 to ");
    const count = /Type a number from 1 to (\d+)/.exec(readable(terminal))?.[1] ?? "";
    await terminal.answer("Your choice (1 to ", count);
    await terminal.see("what the model, the search and the web answer, and what code computes, is a script");
    await terminal.see("Your agent has not begun.");
    await terminal.see("Your choice (1 to ");
    terminal.type("\x03");
    endedWith(130, await terminal.ended);
    const [, workspace = ""] = /^Foo \(foo\) works in (\S+)$/m.exec(readable(terminal)) ?? [];
    expect(await readFile(join(workspace, "recommended_strings.txt"), "utf8")).toContain("Solinco Tour Bite");
    expect(readable(terminal)).toMatch(/an address or a key:\n {2}goald run\n/);
    expect(await goald.json("ps --all")).toEqual({ agents: [] });
  });

  it.concurrent("a pasted key is used for OpenAI's server, never shown, and stored only after a yes", async () => {
    await using home = await atTerminal(0);
    const { goald, server } = home;
    // The daemon asks the model, and the set-up asks it once before.
    const env = { ...noServer, RELAY_OPENAI_TO: server.baseUrl, NODE_OPTIONS: `--import=${RELAY}` };
    const options = { env };
    const ask = async (keep: string): Promise<Terminal> => {
      const terminal = goald.openTerminal([...NEW_AGENT, "--continuous"], options);
      await terminal.see("paste an OpenAI key");
      const number = /(\d+) {2}paste an OpenAI key/.exec(readable(terminal))?.[1] ?? "";
      await terminal.answer("Your choice (1 to ", number);
      await terminal.answer("Your key (it is not shown): ", "short");
      await terminal.see("That is not a key");
      await terminal.answer("Your choice (1 to ", number);
      await terminal.answer("Your key (it is not shown): ", KEY);
      await terminal.see("gpt-4.1 answered in ");
      await terminal.answer(`Keep this in ${goald.home}/.env`, keep);
      expect(endedWith(0, await terminal.ended).stdout).not.toContain(KEY);
      return terminal;
    };
    await ask("n");
    expect(await goald.read(".env")).toBeUndefined();
    endedWith(0, await goald.ask("down"));
    await ask("y");
    expect(await goald.read(".env")).toBe(`OPENAI_API_KEY=${KEY}\n`);
    expect((await stat(join(goald.home, ".env"))).mode & 0o777).toBe(0o600);
    // No further question follows.
    endedWith(0, await goald.run([...NEW_AGENT, "--continuous"], options));
    const keys = new Set(server.requests.map(({ headers }) => headers.authorization));
    expect([...keys]).toEqual([`Bearer ${KEY}`]);
    expect(await goald.read(".goald/log/goald.log")).not.toContain(KEY);
  });

  it.concurrent("a server at a typed address is asked once, and kept with its model and key in a new home", async () => {
    await using server = await startOpenAIServer({
      reply: numberedModel([]),
      embeddings: null,
      apiKey: KEY,
      models: ["big", "small", "tiny-embed"],
    });
    await using goald = await makeGoald({ GOALD_MEMORY_EMBEDDER: "offline" });
    const terminal = goald.openTerminal("run --budget 1 --continuous");
    const address = async (): Promise<void> => {
      await terminal.see("Your choice (1 to ");
      const number = /(\d+) {2}type the address/.exec(readable(terminal))?.[1] ?? "";
      terminal.type(`${number}\r`);
      await terminal.answer("Its address, such as ", server.baseUrl);
    };
    await address();
    await terminal.answer("Its key (it is not shown; Enter: it needs none): ", "");
    await terminal.see("It refused the key");
    await address();
    await terminal.answer("Its key (it is not shown; Enter: it needs none): ", KEY);
    await terminal.answer("Which model (number or name)? ", "2");
    await terminal.see("small answered in ");
    expect(server.chats).toHaveLength(1);
    await terminal.answer("Keep this in ", "");
    for (const question of ["AI name [Goald]: ", "Goald is [", "Goal 1: ", "Start? [Y/n] "])
      await terminal.answer(question, "");
    endedWith(0, await terminal.ended);
    const kept = ["OPENAI_BASE_URL", "OPENAI_API_KEY", "SMART_LLM", "FAST_LLM"];
    expect(await goald.read(".env")).toBe(
      [server.baseUrl, KEY, "small", "small"].map((value, at) => `${kept[at]}=${value}\n`).join(""),
    );
    expect(new Set(server.chats.map(({ model }) => model))).toEqual(new Set(["small"]));
    expect(readable(terminal)).not.toMatch(/tiny-embed|sk-/);
  });

  it.concurrent("a server on a usual port is offered, and used only when chosen", async () => {
    await using home = await atTerminal(1);
    const { goald, server } = home;
    const relay = await listenOnUsualPort(server);
    // If other programs hold every usual port, this test cannot start its server.
    if (!relay) return;
    try {
      const terminal = goald.openTerminal([...NEW_AGENT, "--continuous"], { env: noServer });
      await terminal.see("Your choice (1 to ");
      const number = new RegExp(`(\\d+)  use [^\\n]*:${relay.port}/v1`).exec(readable(terminal))?.[1] ?? "";
      expect(server.chats).toEqual([]);
      terminal.type(`${number}\r`);
      await terminal.answer("Keep this in ", "n");
      endedWith(0, await terminal.ended);
      expect(server.chats[0]?.model).toBe("test-model");
      expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(1));
    } finally {
      relay.close();
    }
  });
});

/** Forwards connections to the test's server from the first free usual port; undefined without one. */
async function listenOnUsualPort(target: OpenAIServer) {
  for (const { port } of USUAL_PORTS) {
    const relay = createServer((socket) => {
      void pipeline(socket, connect(target.port, "127.0.0.1"), socket).catch(() => undefined);
    });
    relay.listen(port, "127.0.0.1");
    const isFree = await once(relay, "listening").then(Boolean, () => false);
    if (isFree) return { port, close: () => relay.close() };
  }
  return undefined;
}

describe("colour", () => {
  const args = ["attach", "t"];
  let goald: Goald;
  beforeAll(async () => {
    ({ goald } = await atTerminal(1));
    // A pipe never gets colours.
    expect(await goald.print([...NEW_AGENT, "--continuous"])).not.toContain("\x1b");
  });

  it.each<[title: string, call: readonly string[], env: Record<string, string>]>([
    ["NO_COLOR", args, { NO_COLOR: "1" }],
    ["--no-color", [...args, "--no-color"], {}],
    ["TERM=dumb", args, { TERM: "dumb" }],
  ])("is omitted for %s", async (_title, call, env) => {
    const { stdout } = endedWith(0, await goald.openTerminal(call, { env }).ended);
    expect(stdout).toContain("Thoughts:");
    expect(stdout).not.toContain("\x1b");
  });

  it("is used otherwise, by a run and by a verb that looks", async () => {
    for (const call of [args, [...NEW_AGENT, "--continuous"]])
      expect(endedWith(0, await goald.openTerminal(call).ended).stdout).toContain("\x1b[1mThoughts:\x1b[22m");
  });
});

describe("text typed while the agent works", () => {
  /** Starts an agent on a terminal, and holds back each reply after the first until one call of `answer`. */
  async function open(tasks: number) {
    const home = await atTerminal(tasks);
    let answered = 1;
    home.holdFrom(2);
    const terminal = home.goald.openTerminal([...NEW_AGENT, "--approve", "always"]);
    await terminal.see("Run it? ");
    return { ...home, home, terminal, answer: () => home.holdFrom(++answered + 1) };
  }

  it("approves nothing, is shown, and reaches the model as a message", async () => {
    const { home, goald, server, terminal, answer } = await open(3);
    await using _home = home;
    terminal.type("y\r");
    await terminal.see("Step 2");
    terminal.type("y\r");
    terminal.type("use shorter lines\r");
    await terminal.see("Kept for the next step: y");
    await terminal.see("use shorter lines");
    answer();
    await terminal.see("Run it? ");
    // The second command is shown, and nothing has approved it.
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(1));
    terminal.type("y\r");
    await terminal.see("Step 3");
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(2));
    answer();
    await terminal.see("Run it? ");
    const words = server.chats[2]?.messages.filter(({ content }) => /^use shorter lines$/m.test(content));
    expect(words?.length).toBeGreaterThan(0);
    terminal.type("n\r");
    endedWith(11, await terminal.ended);
    const { log } = await lookInto(goald);
    const said = log.flatMap((event) => (event.type === "message-received" ? [event.text] : []));
    expect(said.join("\n")).toBe("y\nuse shorter lines");
    expect(log.filter(({ type }) => type === "command-approved")).toHaveLength(2);
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
});
