import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { catalogueHash, loadCatalogue } from "#app/catalogue.ts";
import { findCage } from "#cage/find-cage.ts";
import type { Home } from "#config/home.ts";
import { initialState } from "#core/state.ts";
import { type DaemonHome, makeDaemonHome, NO_NETWORK } from "../helpers/daemon-home.ts";
import {
  daemonOf,
  endedWith,
  errorOf,
  type Goald,
  homeOf,
  linesOf,
  lookInto,
  makeGoald,
  RUN,
} from "../helpers/goald.ts";
import { append, ledger, ledgerText, numberedModel } from "../helpers/models.ts";
import {
  SEARCH_KEY,
  type SearchServer,
  type ServiceServer,
  startSearchServer,
  startServiceServer,
} from "../helpers/service-servers.ts";
import { inflatingPdf, manyStreamsPdf, twiceDeflatedPdf } from "../services/pdf-bombs.ts";

const WEB_RUN = ["run", "--name", "T", "--role", "r", "--continuous", "--json"];
const BYTES = Buffer.from([0, 1, 2, 255, 254, 10]);

describe("a recorded agent that searches and downloads", () => {
  let home: DaemonHome;
  let brave: SearchServer;
  let secret: ServiceServer;
  beforeAll(async () => {
    const limited = await startSearchServer("tavily", [], () => ({ status: 429 }));
    brave = await startSearchServer("brave", [{ title: "Strings", href: "https://one.example/", body: "Polyester." }]);
    const data = { status: 200, body: BYTES, headers: { "content-type": "application/octet-stream" } };
    const site = await startServiceServer(({ path }) => (path === "/robots.txt" ? { status: 404 } : data));
    secret = await startServiceServer(() => ({ status: 200, body: "intern" }));
    const calls = [
      { name: "google", args: { input: "tennis strings" } },
      { name: "download_file", args: { url: `${site.origin}/data.bin`, file: "data.bin" } },
      { name: "download_file", args: { url: `${secret.origin}/`, file: "secret.txt" } },
    ];
    const env = {
      TAVILY_API_KEY: SEARCH_KEY,
      TAVILY_BASE_URL: limited.origin,
      BRAVE_API_KEY: SEARCH_KEY,
      BRAVE_BASE_URL: brave.origin,
      // No provider works without a key.
      GOALD_WEB_ALLOW: site.origin,
      GOALD_SEARCH_PROVIDERS: "tavily,brave",
    };
    home = await makeDaemonHome(calls, { env });
    const goal = `Get ${site.origin}/data.bin and ${secret.origin}/`;
    endedWith(0, await home.goald.ask([...WEB_RUN, "--goal", goal, "--record", "t.ndjson"]));
    for (const server of [home.server, limited, brave, site]) await server[Symbol.asyncDispose]();
  });
  afterAll(async () => secret[Symbol.asyncDispose]());

  it("falls back to the next provider at a limit, saves the file, and sends nothing to servers of private networks", async () => {
    const { log } = await lookInto(home.goald);
    const finished = log.flatMap((event) => (event.type === "command-finished" ? [event.observation] : []));
    const found = expect.stringMatching(/^1 result from brave\. tavily did not answer: its limit/);
    expect(finished).toMatchObject([
      { status: "ok", source: "web", text: found },
      { status: "ok", source: "web", artifacts: ["data.bin"] },
      { status: "failed", code: "http-refused", text: expect.stringContaining("web.allow") },
      { status: "ok" },
    ]);
    expect(await readFile(join(home.goald.home, "workspace/t/data.bin"))).toEqual(BYTES);
    expect(secret.connections).toBe(0);
    expect(brave.violations).toEqual([]);
    expect(JSON.stringify(home.server.chats)).toContain("Google Search");
  });

  it("replays without a network, keys or servers", async () => {
    const none = { TAVILY_API_KEY: undefined, BRAVE_API_KEY: undefined, GOALD_WEB_ALLOW: undefined };
    const options = { ...NO_NETWORK, env: { ...none, GOALD_SEARCH_PROVIDERS: "none" } };
    const ended = endedWith(0, await home.goald.run("replay t.ndjson --json", options));
    expect(ended.stderr).not.toContain("A socket was opened.");
    expect(linesOf(ended).at(-1)).toMatchObject({ same: true, files: 1, problems: [] });
  });

  it("leaves a recording of how each command ended and of the file that it saved, but no key", async () => {
    const text = await readFile(join(home.goald.cwd, "t.ndjson"), "utf8");
    expect(text).not.toContain(SEARCH_KEY);
    const outcomes = linesOf({ stdout: text }).filter(({ type }) => type === "outcome");
    const [first, second, third] = [[], [{ path: "data.bin" }], []].map((files, at) => ({ step: at + 1, files }));
    expect(outcomes).toMatchObject([first, second, third]);
  });
});

it("a home without search providers does not offer search to models, and tells people how to set it up", async () => {
  await using without = await makeDaemonHome([], { env: { GOALD_SEARCH_PROVIDERS: "none" } });
  endedWith(0, await without.goald.ask([...WEB_RUN, "--goal", "g"]));
  expect(JSON.stringify(without.server.chats)).not.toContain("Google Search");
  expect(await without.goald.print("commands")).toMatch(/google[\s\S]*TAVILY_API_KEY/);
});

it("a model server that takes neither schema nor stream costs one request more for its first agent alone", async () => {
  const think = numberedModel([append("line 1\n")]);
  await using home = await makeDaemonHome([], {
    reply: (request) => (request.response_format || request.stream ? { status: 400, body: "" } : think(request)),
  });
  const { goald, server } = home;
  for (const [name, requests] of [
    ["one", 3],
    ["two", 5],
  ] as const) {
    endedWith(0, await goald.ask(["run", "--name", name, "--goal", "g", "--continuous"]));
    expect(server.chats).toHaveLength(requests);
    expect(await goald.read(`workspace/${name}/ledger.txt`)).toBe(ledgerText(1));
  }
  const { log, problems } = await lookInto(goald, "two");
  expect(problems).toEqual([]);
  expect(log.findLast((event) => event.type === "model-asked")).toMatchObject({ mode: "plain" });
});

it("an agent sees its newest files and what is left in each last message, and the same in a replay", async () => {
  const calls = [append("one\n"), append("two\n"), append("three\n")];
  await using home = await makeDaemonHome(calls);
  const { goald, server } = home;
  const file = join(goald.cwd, "run.ndjson");
  await goald.ask([...RUN, "--continuous-limit", "2", "--record", file]);
  await goald.write("workspace/t/from me/plan.md", "A person's plan.");
  await goald.write("workspace/t/.hidden", "x");
  endedWith(0, await goald.ask(["resume", "t", "--json", "--max-steps", "5", "--record", file]));

  const lastMessages = server.chats.map(({ messages }) => messages.at(-1)?.content ?? "");
  expect(lastMessages).toHaveLength(4);
  expect(lastMessages[0]).toContain(
    "Left, this step included: 2 of 2 steps, $5.0000.\nYour limits end within two steps:",
  );
  expect(lastMessages[0]).not.toContain("Newest files");
  expect(lastMessages[1]).toMatch(/age:\n<data-\w+>\nledger\.txt, 4 bytes, just now\n<\/data-/);
  // The person's file is newer until the agent writes again.
  expect(lastMessages[2]).toMatch(/\nfrom me\/plan\.md, 16 bytes, .*\nledger\.txt, 8 bytes, .*\n<\/data-/);
  expect(lastMessages[2]).toContain("Left, this step included: 5 of 7 steps, $4.99");
  expect(lastMessages[2]).not.toContain("Your limits end");
  expect(lastMessages[3]).toMatch(/\nledger\.txt, 14 bytes, .*\nfrom me\/plan\.md, 16 bytes, .*\n<\/data-/);
  expect(lastMessages.join()).not.toContain(".hidden");

  const step = await goald.json<{ prompt: { exact: boolean } }>("show t --step 3");
  expect(step.prompt.exact).toBe(true);
  expect(endedWith(0, await goald.ask(["replay", file])).stderr).not.toContain("GOALD_REPLAY");
  expect(server.chats).toHaveLength(4);
});

describe("methods of a home", () => {
  const HELPERS = `"""Helpers."""
def add_commas(text: str) -> str:
    """Puts commas between the words of a text."""
    return ", ".join(text.split())

def _hidden(): pass
`;

  const WAVE = 'export default { name: "wave", summary: "Waves.", listed: false, run: async () => "done" };';
  let goald: Goald;
  let home: Home;

  beforeAll(async () => {
    goald = await makeGoald();
    endedWith(0, await goald.ask("init"));
    await goald.write("commands/wave.js", WAVE);
    await goald.write("methods/words.py", HELPERS);
    home = await homeOf(goald);
  });

  const methods = join("methods", "words.py");
  const load = () => loadCatalogue(home, { methods: { ready: true } }, 2, { finding: null });

  it("are listed by goald commands, and counted by goald doctor", async () => {
    const table = await goald.print("commands");
    expect(table).toMatch(/^wave +unlisted /m);
    expect(table).toMatch(/^read_file +ready /m);
    expect(table).toMatch(/^ {2}add_commas\(text: str\) -> str {2}\(.*methods\/words\.py\)$/m);
    expect(table).not.toContain("_hidden");
    const { commands, methods: listed } = await goald.json<{
      commands: readonly { name: string; listed: boolean }[];
      methods: readonly object[];
    }>("commands");
    expect(commands.flatMap(({ name, listed: isListed }) => (isListed ? [] : [name]))).toEqual(["wave"]);
    expect(listed).toEqual([
      {
        name: "add_commas",
        signature: "add_commas(text: str) -> str",
        doc: "Puts commas between the words of a text.",
        file: join(goald.home, methods),
      },
    ]);
    expect(await goald.print("commands wave")).toContain("method_search finds it");
    expect((await goald.ask("doctor")).stdout).toMatch(/commands, 1 Python helper, prompts and prices can be read/);
  });

  it.each([
    ["that a command has", "def read_file(path): pass", /words2\.py:1 defines read_file, which is also a command/],
    ["of another file", "def add_commas(x): pass", /words2\.py:1 defines add_commas, which is also in .*words\.py/],
    ["in no text", Buffer.from([0xff, 0xfe, 0]), /words2\.py cannot be read as UTF-8 text/],
  ])("are refused for a name %s", async (_which, source, says) => {
    const path = join(goald.home, "methods", "words2.py");
    await writeFile(path, source);
    const error = errorOf(endedWith(2, await goald.ask("commands --json")));
    expect(error.code).toBe("GOALD_COMMAND_INVALID");
    expect(error.message).toMatch(says);
    await writeFile(path, "");
  });

  it("are read again with the commands, and are a part of the hash of the catalogue", async () => {
    const before = await load();
    expect(before.commandsFor(initialState).modules.map(({ file }) => file)).toEqual(["words.py", "words2.py"]);
    await goald.write(methods, HELPERS.replace("add_commas", "join_words"));
    const after = await load();
    expect(after.commandsFor(initialState).callable.describe(["join_words"])).toHaveLength(1);
    expect(catalogueHash(after)).not.toBe(catalogueHash(before));
    await goald.write(methods, HELPERS);
    expect(catalogueHash(await load())).toBe(catalogueHash(before));
  });
});

/** A small server: 2 GB of data for each process. */
const SMALL_SERVER = 'ulimit -d 2000000; exec "$@"';

describe("a daemon of two agents on a small server", () => {
  it("reads a PDF of 1 MB that inflates to 1 GB, and other bombs, and neither it nor the other agent notices", async () => {
    const bombs = [await inflatingPdf(1_000), await twiceDeflatedPdf(1_000), await manyStreamsPdf(8, 1_000)];
    await using site = await startServiceServer(({ path }) => {
      const bomb = bombs[Number(/^\/paper-(\d)\.pdf$/.exec(path)?.[1] ?? -1)];
      return bomb ? { status: 200, body: bomb, headers: { "content-type": "application/pdf" } } : { status: 404 };
    });
    const readAll = numberedModel(
      bombs.map((_, index) => ({
        name: "browse_website",
        args: { url: `${site.origin}/paper-${index}.pdf`, question: "What is it about?" },
      })),
    );
    const writeLines = numberedModel(ledger(20));
    await using home = await makeDaemonHome([], {
      reply: (request) => (JSON.stringify(request).includes("Read the papers") ? readAll : writeLines)(request),
      env: { GOALD_WEB_ALLOW: site.origin },
    });
    const { goald } = home;
    await using daemon = daemonOf(goald);
    endedWith(0, await goald.run("up", { shell: SMALL_SERVER }));
    const pid = daemon.pid();
    const start = (name: string, goal: string) =>
      goald.run(["run", "-d", "--name", name, "--role", "r", "--goal", goal, "--continuous", "--json"]);
    const papers = bombs.map((_, index) => `${site.origin}/paper-${index}.pdf`).join(" ");
    endedWith(0, await start("Reader", `Read the papers ${papers}`));
    endedWith(0, await start("Writer", "Write lines"));
    for (const agent of ["reader", "writer"]) await home.logged("turn-finished", 1, agent);

    const { log, problems } = await lookInto(goald, "reader");
    const observations = log.flatMap((event) => (event.type === "command-finished" ? [event.observation] : []));
    expect(observations.slice(0, bombs.length).map(({ text }) => text)).toEqual(
      bombs.map(() => expect.stringMatching(/It needed more than 512 MB of memory|It took longer than 10 s/)),
    );
    expect(problems).toEqual([]);
    expect(await goald.read("workspace/writer/ledger.txt")).toBe(ledgerText(20));
    expect((await lookInto(goald, "writer")).log.filter(({ type }) => type === "agent-resumed")).toEqual([]);
    expect(daemon.pid()).toBe(pid);
    const { level } = await findCage();
    const status = JSON.parse((await goald.run("status --json")).stdout) as { rssBytes: number; cage: unknown };
    expect(status).toMatchObject({ cage: { level } });
    expect(status.rssBytes).toBeLessThan(400_000_000);
  });
});
