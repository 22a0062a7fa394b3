/**
 * goald.ts -- goald's side of the bench: the real loop on a real home, composed as the command line does it, with log
 * file and redaction, and with the V8 settings of src/goald.js.
 */
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { composeAgent, openHost } from "#app/main.ts";
import { findHome } from "#config/home.ts";
import { loadSettings } from "#config/load.ts";
import { runForeground } from "#host/foreground.ts";
import { openLog } from "#util/log.ts";
import { createRedactor, createValueRedactor } from "#util/redact.ts";
import { readJob, startMeter } from "./meter.ts";

for (const flag of ["--semi-space-growth-factor=1", "--no-parallel-scavenge"]) setFlagsFromString(flag);
const { steps, baseUrl, folder } = readJob();
const meter = startMeter(steps);
const home = await findHome({
  flag: join(folder, "home"),
  env: {},
  cwd: folder,
  checkout: undefined,
  userHome: folder,
  configHome: undefined,
  isTerminal: false,
  askTrust: async () => false,
  uid: process.getuid?.(),
});
const key = "sk-bench-0123456789abcdefghij";
const env = { OPENAI_API_KEY: key, OPENAI_BASE_URL: baseUrl, GOALD_EMBEDDER: "offline" };
const { settings } = await loadSettings({ home, env });
const log = await openLog({ folder: home.logFolder, redact: createRedactor([key]), level: settings.logLevel });
{
  await using host = await openHost(home, settings, log);
  const at = new Date().toISOString();
  const spec = { name: "Bench", role: "a clerk who keeps a log", goals: ["Add one line at each step."] };
  const row = await host.store.create({ ...spec, approve: "never", stepLimit: steps }, "bench", at);
  await using agent = await composeAgent(host, row, {
    onCommitted: (events) => {
      for (const event of events) {
        if (event.type === "agent-paused" && event.code !== "step-limit") throw new Error(event.reason);
        if (event.type !== "command-finished") continue;
        if (event.observation.status !== "ok") throw new Error(JSON.stringify(event.observation));
        log.info({ agent: row.id, seq: event.seq, step: event.step, status: event.observation.status }, event.type);
        meter.stepDone(event.step);
      }
    },
    scrub: createValueRedactor([key]),
    redact: createValueRedactor([key]),
    report: (problem) => {
      throw new Error(problem);
    },
    signal: new AbortController().signal,
  });
  await runForeground(agent.lease, { ...agent.parts, interrupt: new AbortController().signal });
}
meter.report(home.database);
