/** demo.ts -- `goald demo`: a scripted agent through the real loop, writing real files. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { openEdges, readDemoScript } from "#cassette/demo-script.ts";
import type { Home } from "#config/home.ts";
import { EXIT } from "#core/errors.ts";
import { replay } from "#core/evolve.ts";
import { ROOT_FOLDER } from "../../shipped.ts";
import { formatCall, makeTemporaryHome, openContext } from "../context.ts";
import { Interrupts } from "../follow-agent.ts";
import { openPrivateHost } from "../open-host.ts";
import { openScreen } from "../result.ts";
import { runOnScreen } from "../run-agent.ts";
import { defineVerb, type OptionValues, RUN_CODES, text } from "../verb.ts";

const OPTIONS = {
  record: text("--record <file>", "record all input from outside into this file, for goald replay"),
};

export const verb = defineVerb({
  description: "run a scripted agent through the real loop: no key and no network needed",
  examples: ["goald demo", "goald demo --json", "goald demo --record demo.ndjson"],
  options: OPTIONS,
  exitCodes: RUN_CODES,
  run: (_args, options) => demoVerb(options),
});

export async function demoVerb(options: OptionValues<typeof OPTIONS>): Promise<number> {
  const script = readDemoScript(join(ROOT_FOLDER, "config", "demo", "script.json"));
  using visited = await openContext({ ...options, input: false, revives: false }, AS_SCRIPTED);
  const { output } = visited;
  const home = options.home === undefined ? (await makeTemporaryHome(visited.home, options, KEPT)).home : visited.home;
  const context = { ...visited, home };
  await using opened = await openPrivateHost(context, {
    services: Object.fromEntries(SET_UP.map((name) => [name, { ready: true }])),
    edges: openEdges(script, process.stdout.isTTY === true && !output.json),
  });
  const { host, client } = opened;
  output.say(
    "A demo: what the model, the search and the web answer, and what code computes, is a script. The loop, the reading of pages, the files and the memory are real.",
  );
  const record = options.record === undefined ? undefined : resolve(options.record);
  if (record !== undefined) host.recordings.create(record);
  const at = new Date().toISOString();
  const { name, role, goals } = script;
  const row = await host.store.create({ name, role, goals, approve: "never", stepLimit: 30 }, `demo/${at}`, at);
  const workspace = join(home.workspaceFolder, row.folder);
  for (const [path, content] of Object.entries(script.files)) {
    const target = join(workspace, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
  }
  if (record !== undefined) host.recordings.resume(record, row);
  output.say(`${name} (${row.id}) works in ${workspace}`);
  const screen = await openScreen(context, []);
  const { events } = await client.page(row.id, 0, 1);
  for (const event of events) screen.show(event);
  using interrupts = new Interrupts();
  const parts = { context, client, interrupts };
  const known = { after: events.length, state: replay(events) };
  const exitCode = await runOnScreen({ id: row.id, workspace }, parts, known, screen, options);
  if (exitCode === EXIT.ok) output.say(next(visited.home));
  return exitCode;
}

/** Its home stays, so that a person can look at what the agent left. */
const KEPT = { prefix: "goald-demo-", isKept: true } as const;

const SET_UP = ["advisor", "cells", "pages", "plan", "memories", "search"];

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

const next = (home: Home): string => `
To set up an agent of your own, with a server on this machine, an address or a key:
  ${formatCall(home, "run")}`;
