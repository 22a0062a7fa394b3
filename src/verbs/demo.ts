/**
 * demo.ts -- `goald demo`: a recorded agent through the real loop, over real HTTP, writing real files.
 */
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Home } from "#config/home.ts";
import type { SettingFlags } from "#config/load.ts";
import { activeFrame } from "#core/state.ts";
import { throughRecording } from "#demo/recorded-web.ts";
import { readRecording } from "#demo/recording.ts";
import { startReplayServer } from "#demo/replay-server.ts";
import { isHostHeld } from "#store/host-lock.ts";
import { openHost } from "../main.ts";
import { ROOT_FOLDER } from "../shipped.ts";
import { hostAgent, openHouseLog } from "./host-agent.ts";
import { type GlobalOptions, type House, openHouse } from "./house.ts";
import { openRecording } from "./recording.ts";

export interface DemoOptions extends GlobalOptions {
  /** File that it is recorded into, like any run. */
  readonly record?: string;
}

export async function demoVerb(options: DemoOptions): Promise<number> {
  const recording = readRecording(join(ROOT_FOLDER, "config", "demo", "recording.ndjson"));
  await using server = await startReplayServer(recording.exchanges);
  const { house, own } = await openFreeHouse(options, {
    "openai.baseUrl": server.baseUrl,
    "openai.apiKey": "demo-needs-no-key",
    "search.searxng.baseUrl": server.origin,
    ...AS_RECORDED,
  });
  const { talk } = house;
  try {
    await using host = await openHost(house.home, house.settings, await openHouseLog(house), {
      role: "foreground",
      services: SET_UP,
      throughHttp: (http) => throughRecording(http, server.origin),
    });
    talk.say(
      "A demo: what the model, the search and the web answer is a recording, played by a server on this machine. The loop, the reading of pages, the files and the memory are real.",
    );
    const at = new Date().toISOString();
    const { name, role, goals } = recording;
    const row = await host.store.create({ name, role, goals, approve: "never", stepLimit: 30 }, `demo/${at}`, at);
    for (const { path, content } of recording.files) {
      const target = join(host.home.workspaceFolder, row.folder, path);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, content);
    }
    const taken = openRecording(options, house);
    using recorder = taken?.recorder;
    const { state, exitCode } = await hostAgent(host, row, taken?.house ?? house, { recorder });
    if (activeFrame(state).phase.kind === "resting") talk.say(next(own.envFile));
    return exitCode;
  } finally {
    talk.close();
  }
}

/** The person's home, unless a daemon or another run has its agents in hand: then one of the demo's own. */
async function openFreeHouse(
  options: GlobalOptions,
  flags: SettingFlags,
): Promise<{ readonly house: House; readonly own: Home }> {
  const asked = { ...options, input: false, revives: false };
  const house = await openHouse(asked, flags);
  if (!isHostHeld(house.home.lock)) return { house, own: house.home };
  house.talk.close();
  const folder = await mkdtemp(join(tmpdir(), "goald-demo-"));
  house.talk.say(
    `The agents of ${house.home.root} are in the hands of a process already; the demo has a home of its own.`,
  );
  return { house: await openHouse({ ...asked, home: folder }, flags), own: house.home };
}

const SET_UP = { advisor: { ready: true }, pages: { ready: true }, search: { ready: true } } as const;

/** The recording fits these settings; those of a person's own agents may be any. */
const AS_RECORDED = {
  "models.smart": "recording",
  "models.fast": "recording",
  "search.providers": "searxng",
  // Its sites are of this machine, and have no rules for guests.
  "web.robots": false,
  embedder: "offline",
  contextTokens: null,
  promptTokens: 32_000,
  replyTokens: 4_000,
  "recall.count": 10,
  "limits.maxBadReplies": 3,
} as const;

const next = (envFile: string): string => `
To run an agent of your own, put a key into ${envFile} (OPENAI_API_KEY=…), or the address of a local server (OPENAI_BASE_URL=http://127.0.0.1:11434/v1), then:
  npx goald run`;
