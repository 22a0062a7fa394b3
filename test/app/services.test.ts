import { describe, expect, it } from "@jest/globals";
import { serviceStates } from "#app/catalogue.ts";
import { createChecks } from "#app/host.ts";
import { openMemoryLate } from "#app/lazy-memory.ts";
import { openMemory } from "#app/memory.ts";
import { listModels, openServices } from "#app/services.ts";
import type { Tape } from "#cassette/tape.ts";
import { loadRegistry } from "#commands/registry.ts";
import type { Home } from "#config/home.ts";
import { loadSettings } from "#config/load-settings.ts";
import type { MemoryRow } from "#core/ports/memory.ts";
import type { ServiceName, Services } from "#core/services.ts";
import { createHttp } from "#http/http.ts";
import { systemClock } from "#util/clock.ts";
import { REPORT_FILE, writeReport } from "#views/report-facts.ts";
import { AT, memoryOf, NOTHING, SPEC, said, stamped } from "../helpers/events.ts";
import { useOpened } from "../helpers/folder.ts";
import { done, makeLoop, reply } from "../helpers/loop.ts";
import { fixedEmbedder, LIVE, memoryRows, recallQuery } from "../helpers/memory-rows.ts";
import { openMemoryStore } from "../helpers/memory-store.ts";
import { MemoryWorkspace } from "../helpers/memory-workspace.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { pictureAnswer, png, startServiceServer, wav, X_ENVIRONMENT } from "../helpers/service-servers.ts";

type Environment = Record<string, string>;
const opened = useOpened();
const settingsOf = async (env: Environment) => (await loadSettings({ env, home: HOME })).settings;
const KEY = { OPENAI_API_KEY: "sk-0123456789abcdefghij" };

async function servicesOf(env: Environment): Promise<Partial<Services>> {
  const settings = await settingsOf(env);
  return openServices({ settings, http: createHttp(), clock: systemClock, scrub: String });
}

it("a model that the server calls by its name and :latest has the window of the settings", async () => {
  await using server = await startOpenAIServer({ models: ["own:latest"] });
  const env = { OPENAI_BASE_URL: server.baseUrl, SMART_LLM: "own", GOALD_MODELS_CONTEXT_TOKENS: "12345" };
  const listed = await listModels(HOME, await settingsOf(env), 5_000);
  expect(listed).toMatchObject({
    models: expect.arrayContaining([expect.objectContaining({ contextTokens: 12_345 })]),
  });
});

describe("what a home is set up for", () => {
  it.each<[name: ServiceName, env: Environment, isReady: boolean]>([
    ["images", {}, false],
    ["images", KEY, true],
    ["images", { ...KEY, OPENAI_BASE_URL: "http://127.0.0.1:11434/v1" }, false],
    ["images", { GOALD_IMAGES_BASE_URL: "http://127.0.0.1:8080/v1" }, true],
    ["search", {}, true],
    ["search", { GOALD_SEARCH_PROVIDERS: "none" }, false],
    ["search", { GOALD_SEARCH_PROVIDERS: "tavily,brave,searxng" }, false],
    ["search", { GOALD_SEARCH_PROVIDERS: "tavily,brave", BRAVE_API_KEY: "BSA-0123456789abcdef" }, true],
    ["downloads", {}, true],
    ["agents", { GOALD_AGENTS_MAX_DEPTH: "0" }, false],
    ["speech", { ...KEY, OPENAI_BASE_URL: "http://127.0.0.1:11434/v1" }, false],
    ["speech", { GOALD_SPEECH_BASE_URL: "http://127.0.0.1:8080/v1" }, true],
    ["posts", X_ENVIRONMENT, true],
    ...Object.keys(X_ENVIRONMENT).map((missing): [ServiceName, Environment, boolean] => [
      "posts",
      { ...X_ENVIRONMENT, [missing]: "" },
      false,
    ]),
  ])("%s with %j: %s", async (name, env, isReady) => {
    const state = serviceStates(await settingsOf(env))[name];
    expect(state?.ready).toBe(isReady);
    // What is missing is named by the variable that sets it.
    if (!state?.ready) expect(state?.toDo).toMatch(/^Set .*[A-Z]+_[A-Z_]+/);
    expect(name in (await servicesOf(env))).toBe(isReady);
  });

  it("is git where there is a git, and says to install it where there is none", async () => {
    const settings = await settingsOf({});
    expect(serviceStates(settings).repositories).toEqual({ ready: true });
    const path = process.env.PATH;
    try {
      process.env.PATH = "/nonexistent:relative/bin";
      expect(serviceStates(settings).repositories).toEqual({ ready: false, toDo: "Install git, 2.37 or newer." });
    } finally {
      process.env.PATH = path;
    }
  });
});

it("the key of the model server goes to the server that it was set for, and to none beside it", async () => {
  const { signal } = new AbortController();
  const paint = async ({ images }: Partial<Services>) => images?.generate("a ball", "64x64", signal);
  const hear = async ({ speech }: Partial<Services>) => speech?.transcribe("a.wav", wav(), signal);
  await using server = await startServiceServer(({ path }) =>
    path.endsWith("/transcriptions") ? { status: 200, body: { text: "a" } } : pictureAnswer(png(64, 64)),
  );
  await using other = await startServiceServer(() => ({ status: 200, body: { text: "a" } }));
  const env = {
    ...KEY,
    OPENAI_BASE_URL: `${server.origin}/v1`,
    GOALD_IMAGES_BASE_URL: `${server.origin}/v1`,
    GOALD_SPEECH_BASE_URL: `${other.origin}/v1`,
  };
  const services = await servicesOf(env);
  expect(await paint(services)).toMatchObject({ format: "png", width: 64 });
  expect(await hear(services)).toBe("a");
  const own = await servicesOf({ ...env, GOALD_SPEECH_API_KEY: "sk-speech-0123456789" });
  expect(await hear(own)).toBe("a");
  expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY.OPENAI_API_KEY}`]);
  expect(other.requests.map(({ headers }) => headers.authorization)).toEqual([
    undefined,
    "Bearer sk-speech-0123456789",
  ]);
});

async function check(
  states: Parameters<typeof loadRegistry>[1],
  ...settings: Parameters<ReturnType<typeof createChecks>["checkSettings"]>
) {
  const registry = await loadRegistry(["commands"], states);
  return createChecks(() => registry).checkSettings(...settings);
}

describe("the plan of an agent", () => {
  const PLANS = { plan: { ready: true } } as const;

  it.each([
    ["a new agent", { plan: "required", commands: "files" }, undefined, "--plan required"],
    ["the form plan", { form: "plan", commands: "web , files" }, undefined, "The form plan"],
    ["a profile with half of them", { plan: "required", commands: "add_task,files" }, undefined, "--plan required"],
    ["a profile that comes later", { commands: "files" }, { plan: "required", commands: null }, "--plan required"],
    ["a plan that comes later", { plan: "required" }, { commands: "files" }, "--plan required"],
  ] as const)("is refused without its commands, for %s", async (_title, settings, before, asked) => {
    await expect(check(PLANS, settings, before)).rejects.toMatchObject({
      code: "GOALD_USAGE",
      message: expect.stringMatching(new RegExp(`^${asked} needs add_task and modify_task, and --commands .*files`)),
      hint: expect.stringMatching(/^Add the group plan: --commands .*files.*,plan$/),
    });
  });

  it.each([
    ["all commands", { plan: "required" }, undefined],
    ["the group", { plan: "required", commands: "files,plan" }, undefined],
    ["both names", { form: "plan", commands: "add_task,modify_task" }, undefined],
    ["a plan that nobody requires", { commands: "files" }, { plan: "free", form: "json" }],
    ["a change of something else", { stepLimit: 5 }, { plan: "required", commands: null }],
  ] as const)("is accepted with %s (control)", async (_title, settings, before) => {
    expect(await check(PLANS, settings, before)).toEqual(settings);
  });
});

describe("the form of an agent", () => {
  const OFF = { cells: { ready: false, toDo: "Set sandbox." } } as const;

  it.each(["react", "code"] as const)("is refused when it is %s and no code can run, with what to do", async (form) => {
    await expect(check(OFF, { form })).rejects.toMatchObject({
      code: "GOALD_USAGE",
      message: `The form ${form} runs code, and code cannot run here.`,
      hint: "Set sandbox. Or choose another form: --form json or --form tools.",
    });
  });

  it("is accepted when code can run, and json and tools always (control)", async () => {
    for (const form of ["react", "code"] as const)
      expect(await check({ cells: { ready: true } }, { form })).toEqual({ form });
    for (const form of ["json", "tools"] as const) expect(await check(OFF, { form })).toEqual({ form });
  });
});

const SERVER = { ...KEY, OPENAI_BASE_URL: "http://127.0.0.1:1/v1" };
const HOME = { privateFolder: "/nowhere/.goald", envFile: "/nowhere/.env", configFolder: "/nowhere" } as Home;
const QUERY = recallQuery(["rain"]);

describe("long-term memory", () => {
  /** Opens memory with these rows that asks a server for embeddings, and counts its requests. */
  async function openMemoryWith(rows: readonly Partial<MemoryRow>[], env: Environment = SERVER) {
    const settings = await settingsOf(env);
    const store = memoryRows();
    for (const row of rows) store.change("foo", store.add("foo", "Paris has rain.").id, row);
    let requests = 0;
    const send = async (): Promise<Response> => {
      requests++;
      throw new Error("connection refused");
    };
    const memory = opened(
      openMemoryLate({
        home: HOME,
        settings,
        server: {
          baseUrl: settings.openai.baseUrl,
          apiKey: settings.openai.apiKey ?? "",
          http: { to: () => send },
          timeoutMs: 60_000,
        },
        store: { ...store, memoryVersion: async () => ({ seq: 0, curation: 0, sha: "" }) },
        report: () => undefined,
      }),
    );
    return { memory, counts: () => ({ requests, read: store.counts.read }) };
  }
  const OF_SERVER = { embedder: "text-embedding@1536", vector: Float32Array.of(1) };

  it("asks for no embeddings while an agent has no memories", async () => {
    const { memory, counts } = await openMemoryWith([]);
    expect(await memory.recall(QUERY, LIVE)).toEqual([]);
    expect(counts().requests).toBe(0);
    expect(memory.remote).toBe(true);
  });

  it.each<[what: string, requests: number, row: Partial<MemoryRow>, env: Environment]>([
    ["asks for embeddings when its rows have vectors of a server", 1, OF_SERVER, SERVER],
    ["sends nothing for a person's search of rows without a server's vectors", 0, {}, SERVER],
    ["asks for embeddings of such rows when set so", 1, {}, { ...SERVER, GOALD_MEMORY_EMBEDDER: "openai" }],
    ["sends nothing without a key and a server", 0, OF_SERVER, {}],
  ])("%s", async (_what, requests, row, env) => {
    const { memory, counts } = await openMemoryWith([row], env);
    expect(await memory.recall(QUERY, LIVE)).toMatchObject([{ id: "foo/1" }]);
    expect(counts()).toMatchObject({ requests });
  });

  it("embeds nothing, searches nothing and reads nothing when no memory is to be recalled", async () => {
    const { memory, counts } = await openMemoryWith([OF_SERVER]);
    expect(await memory.recall({ ...QUERY, count: 0 }, LIVE)).toEqual([]);
    expect(counts()).toEqual({ requests: 0, read: 0 });
    await memory.recall(QUERY, LIVE);
    const before = counts();
    expect(await memory.recall(recallQuery(["snow"], { count: 0 }), LIVE)).toEqual([]);
    expect(counts()).toEqual(before);
  });
});

// A host makes missing vectors in the background; a recorded or replayed run does not.

const ROWS = 200;
/** Opens the memory of an agent with 200 rows, recalls once and returns the number of rows that were embedded a second later. */
async function countEmbedded(tape?: Tape): Promise<number> {
  const store = openMemoryStore();
  await store.create(SPEC, "key", AT);
  const events = stamped(2, ...Array.from({ length: ROWS }, (_, row) => said(`${row}`)));
  const memories = events.map((_event, row) => memoryOf(row + 2, `Report number ${row}`));
  await store.commit(await store.claim("foo"), 1, { ...NOTHING, events, memories });
  const embedder = fixedEmbedder();
  const memory = opened(
    openMemory(
      {
        home: HOME,
        settings: await settingsOf({ MEMORY_BACKEND: "exact" }),
        server: { baseUrl: "http://127.0.0.1:1/v1", apiKey: "", http: { to: () => fetch }, timeoutMs: 60_000 },
        store,
        keeper: store,
        report: () => undefined,
        ...(tape ? { tape } : {}),
      },
      embedder,
    ),
  );
  await memory.recall(recallQuery(["Which report?"]), LIVE);
  const embedded = () => embedder.requests.flat().length - 1;
  for (let tries = 0; tries < 200 && embedded() < ROWS; tries++)
    await new Promise((resolve) => setTimeout(resolve, tape ? 5 : 25));
  return embedded();
}

it("makes the vectors that a recall has no room for in a host, and none of them in a recorded or replayed run", async () => {
  expect(await countEmbedded()).toBe(ROWS);
  expect(await countEmbedded({ beside: systemClock } as Tape)).toBe(96);
});

async function finishedLoop() {
  const loop = await makeLoop({ script: [reply("write_to_file", { file: "a.md", text: "abc" }), done("See a.md.")] });
  await loop.run();
  const parts = { store: loop.store, workspaceFolder: "/nowhere/workspace" };
  const changes: string[] = [];
  const open = (own: boolean) =>
    new MemoryWorkspace({ files: loop.files, own, onChange: ({ path }) => changes.push(path) });
  const write = (redact?: (text: string) => string) =>
    writeReport(loop.row, { ...parts, workspace: open(true), ...(redact ? { redact } : {}) });
  return { loop, parts, changes, open, write };
}

describe("the report in an agent's folder", () => {
  it("is written once, and again only after a change", async () => {
    const { loop, changes, write } = await finishedLoop();
    expect(await write()).toBe(true);
    expect(loop.text(REPORT_FILE)).toContain("`a.md`");
    expect(await write()).toBe(false);
    expect(changes).toEqual([REPORT_FILE]);
    loop.files.set(REPORT_FILE, Buffer.from("somebody else's"));
    expect(await write()).toBe(true);
    expect(loop.text(REPORT_FILE)).toMatch(/^# Foo: report\n/);
    // It is not a file of the agent, so its history does not contain it.
    expect((await loop.store.files(loop.row.id)).map(({ path }) => path)).toEqual(["a.md"]);
  });

  it("contains no secret", async () => {
    const { loop, write } = await finishedLoop();
    await write((text) => text.replaceAll("abc", "[redacted]").replaceAll("See", "[redacted]"));
    expect(loop.text(REPORT_FILE)).toContain("> [redacted] a.md.");
  });

  it("is rejected when it is written through the workspace of commands", async () => {
    const { loop, parts, open } = await finishedLoop();
    const written = writeReport(loop.row, { ...parts, workspace: open(false) });
    await expect(written).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
  });
});
