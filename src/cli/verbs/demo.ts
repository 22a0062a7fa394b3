/**
 * demo.ts -- `goald demo`: a scripted agent through the real loop, writing real files.
 */
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { isHostHeld } from "#api/host-lock.ts";
import { openEdges, readDemoScript } from "#cassette/demo-script.ts";
import type { Home } from "#config/home.ts";
import type { SettingFlags } from "#config/load.ts";
import { EXIT } from "#core/errors.ts";
import { replay } from "#core/evolve.ts";
import { ROOT_FOLDER } from "../../shipped.ts";
import { text } from "../option.ts";
import { type CliContext, type GlobalOptions, openContext } from "../shared/context.ts";
import { openScreen } from "../shared/result.ts";
import { runOnScreen } from "../shared/run-agent.ts";
import { inThisProcess } from "../shared/session.ts";
import { defineVerb, RUN_CODES } from "../verb.ts";

export const verb = defineVerb({
  name: "demo",
  group: "Set agents going",
  summary: "run a scripted agent: no key, no network",
  description: "run a scripted agent through the real loop: no key and no network needed",
  examples: ["goald demo", "goald demo --json", "goald demo --record demo.ndjson"],
  options: { record: text("--record <file>", "record all input from outside into this file, for goald replay") },
  exitCodes: RUN_CODES,
  run: (_args, options) => demoVerb(options),
});

export interface DemoOptions extends GlobalOptions {
  /** File into which the run is recorded. */
  readonly record?: string;
}

export async function demoVerb(options: DemoOptions): Promise<number> {
  const script = readDemoScript(join(ROOT_FOLDER, "config", "demo", "script.json"));
  const { context, own } = await openFreeContext(options, AS_SCRIPTED);
  const { output } = context;
  try {
    await using session = await inThisProcess(context, { services: SET_UP, edges: openEdges(script) });
    const { host, client } = session;
    output.say(
      "A demo: what the model, the search and the web answer, and what code computes, is a script. The loop, the reading of pages, the files and the memory are real.",
    );
    const recorded = options.record === undefined ? undefined : host.recordings.create(resolve(options.record));
    const at = new Date().toISOString();
    const { name, role, goals } = script;
    const row = await host.store.create({ name, role, goals, approve: "never", stepLimit: 30 }, `demo/${at}`, at);
    for (const [path, content] of Object.entries(script.files)) {
      const target = join(host.home.workspaceFolder, row.folder, path);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, content);
    }
    recorded?.assign(row, false);
    const workspace = join(host.home.workspaceFolder, row.folder);
    output.say(`${name} (${row.id}) works in ${workspace}`);
    const screen = await openScreen(context, [], host.catalogue);
    const { events } = await client.page(row.id, 0, 1);
    for (const event of events) screen.show(event);
    session.own(row.id);
    host.supervisor.wake(row.id, false);
    const known = { after: events.length, state: replay(events) };
    const exitCode = await runOnScreen({ id: row.id, workspace }, session, known, screen, options);
    if (exitCode === EXIT.ok) output.say(next(own.envFile));
    return exitCode;
  } finally {
    output.close();
  }
}

/** Opens the person's home, or a temporary one when another process holds the person's home. */
async function openFreeContext(
  options: GlobalOptions,
  flags: SettingFlags,
): Promise<{ readonly context: CliContext; readonly own: Home }> {
  const asked = { ...options, input: false, revives: false };
  const context = await openContext(asked, flags);
  if (!isHostHeld(context.home.lock)) return { context, own: context.home };
  context.output.close();
  const folder = await mkdtemp(join(tmpdir(), "goald-demo-"));
  context.output.say(
    `The agents of ${context.home.root} are in the hands of a process already; the demo has a home of its own.`,
  );
  return { context: await openContext({ ...asked, home: folder }, flags), own: context.home };
}

const SET_UP = {
  advisor: { ready: true },
  cells: { ready: true },
  pages: { ready: true },
  plan: { ready: true },
  memories: { ready: true },
  search: { ready: true },
} as const;

/** The settings that the script needs, regardless of the person's settings. */
const AS_SCRIPTED = {
  "openai.baseUrl": "https://model.example/v1",
  "openai.apiKey": "demo-needs-no-key",
  "search.searxng.baseUrl": "https://search.example",
  "models.smart": "script",
  "models.fast": "script",
  "search.providers": "searxng",
  // The sites of the script have no robots.txt.
  "web.robots": false,
  "memory.embedder": "offline",
  "models.contextTokens": 32_000,
  "models.promptTokens": 32_000,
  "models.replyTokens": 4_000,
  "recall.count": 10,
} as const;

const next = (envFile: string): string => `
To run an agent of your own, put a key into ${envFile} (OPENAI_API_KEY=…), or the address of a local server (OPENAI_BASE_URL=http://127.0.0.1:11434/v1), then:
  npx goald run`;
