import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { endedWith, type Goald, linesOf, lookInto, makeGoald } from "../helpers/goald.ts";
import { numberedModel } from "../helpers/numbered-model.ts";
import { type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";
import { SEARCH_KEY, type SearchServer, startSearchServer } from "../helpers/search-servers.ts";
import { type ServiceServer, startServiceServer } from "../helpers/service-server.ts";

const NO_NETWORK = [fileURLToPath(new URL("../helpers/no-network.child.ts", import.meta.url))];
const RUN = ["run", "--name", "T", "--role", "r", "--continuous", "--json"];
const BYTES = Buffer.from([0, 1, 2, 255, 254, 10]);

describe("a recorded agent that searches and downloads", () => {
  let [goald, model]: [Goald | undefined, OpenAIServer | undefined] = [undefined, undefined];
  let [limited, brave]: [SearchServer | undefined, SearchServer | undefined] = [undefined, undefined];
  let site: ServiceServer;
  let secret: ServiceServer;
  let prompts: string;
  beforeAll(async () => {
    limited = await startSearchServer("tavily", [], () => ({ status: 429 }));
    brave = await startSearchServer("brave", [{ title: "Strings", href: "https://one.example/", body: "Polyester." }]);
    site = await startServiceServer(({ path }) =>
      path === "/robots.txt"
        ? { status: 404 }
        : { status: 200, body: BYTES, headers: { "content-type": "application/octet-stream" } },
    );
    secret = await startServiceServer(() => ({ status: 200, body: "intern" }));
    model = await startOpenAIServer({
      reply: numberedModel([
        { name: "google", args: { input: "tennis strings" } },
        { name: "download_file", args: { url: `${site.origin}/data.bin`, file: "data.bin" } },
        { name: "download_file", args: { url: `${secret.origin}/`, file: "secret.txt" } },
      ]),
    });
    goald = await makeGoald({
      OPENAI_BASE_URL: model.baseUrl,
      TAVILY_API_KEY: SEARCH_KEY,
      TAVILY_BASE_URL: limited.origin,
      BRAVE_API_KEY: SEARCH_KEY,
      BRAVE_BASE_URL: brave.origin,
      GOALD_WEB_ALLOW: site.origin,
      // No provider works without a key.
      GOALD_SEARCH_PROVIDERS: "tavily,brave",
    });
    const goal = `Get ${site.origin}/data.bin and ${secret.origin}/`;
    endedWith(0, await goald.ask([...RUN, "--goal", goal, "--record", "t.ndjson"]));
    prompts = JSON.stringify(model.requests.map(({ body }) => body));
    for (const server of [model, limited, brave, site]) await (server as AsyncDisposable)[Symbol.asyncDispose]?.();
  });
  afterAll(async () => {
    await secret[Symbol.asyncDispose]();
    await goald?.[Symbol.asyncDispose]();
  });
  const recording = (): Promise<string> => readFile(join(goald?.cwd ?? "", "t.ndjson"), "utf8");

  it("falls back to the next provider at a limit, saves the file, and sends nothing to servers of private networks", async () => {
    const { log } = await lookInto(goald as Goald);
    const finished = log.flatMap((event) => (event.type === "command-finished" ? [event.observation] : []));
    expect(finished).toMatchObject([
      {
        status: "ok",
        source: "web",
        text: expect.stringMatching(/^1 result from brave\. tavily did not answer: its limit/),
      },
      { status: "ok", source: "web", artifacts: ["data.bin"] },
      { status: "failed", code: "http-refused", text: expect.stringContaining("web.allow") },
      { status: "ok" },
    ]);
    expect(await readFile(join(goald?.home ?? "", "workspace/t/data.bin"))).toEqual(BYTES);
    expect(secret.connections).toBe(0);
    expect(brave?.violations).toEqual([]);
    expect(prompts).toContain("Google Search");
  });

  it("replays without a network, keys or servers", async () => {
    const none = { TAVILY_API_KEY: undefined, BRAVE_API_KEY: undefined, GOALD_WEB_ALLOW: undefined };
    const ended = endedWith(
      0,
      await (goald as Goald).run(["replay", "t.ndjson", "--json"], {
        imports: NO_NETWORK,
        env: { ...none, GOALD_SEARCH_PROVIDERS: "none" },
      }),
    );
    expect(ended.stderr).not.toContain("A socket was opened.");
    expect(linesOf(ended).at(-1)).toMatchObject({ same: true, files: 1, problems: [] });
  });

  it("leaves a recording of how each command ended and of the file that it saved, but no key", async () => {
    const text = await recording();
    expect(text).not.toContain(SEARCH_KEY);
    const outcomes = text
      .split("\n")
      .filter((line) => line.includes('"type":"outcome"'))
      .map((line) => JSON.parse(line) as { step: number; files: readonly { path: string }[] });
    expect(outcomes.map(({ step, files }) => [step, files.map(({ path }) => path)])).toEqual([
      [1, []],
      [2, ["data.bin"]],
      [3, []],
    ]);
  });
});

describe("a home without search providers", () => {
  it("does not offer search to models, and tells people how to set it up", async () => {
    await using model = await startOpenAIServer({ reply: numberedModel([]) });
    await using goald = await makeGoald({ OPENAI_BASE_URL: model.baseUrl, GOALD_SEARCH_PROVIDERS: "none" });
    endedWith(0, await goald.ask([...RUN, "--goal", "g"]));
    expect(JSON.stringify(model.requests)).not.toContain("Google Search");
    const { stdout } = endedWith(0, await goald.ask(["commands"]));
    expect(stdout).toMatch(/google[\s\S]*TAVILY_API_KEY/);
  });
});
