/**
 * goald.ts -- the child of the bench that is goald: the real host on a real home, put together as the command line
 * does it, log file and redaction included, with the settings of src/goald.js for V8.
 */
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { openHost } from "#app/host.ts";
import { findHome } from "#config/home.ts";
import { loadSettings } from "#config/load-settings.ts";
import { openLog } from "#util/log.ts";
import { createRedactor, createValueRedactor } from "#util/redact.ts";
import { readJob, startMeter } from "./meter.ts";

for (const flag of ["--semi-space-growth-factor=1", "--no-parallel-scavenge", "--heap-growing-percent=100"])
  setFlagsFromString(flag);
const { steps, baseUrl, folder, recallCount } = readJob();
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
const env = {
  OPENAI_API_KEY: key,
  OPENAI_BASE_URL: baseUrl,
  GOALD_MEMORY_EMBEDDER: "offline",
  ...(recallCount === undefined ? {} : { GOALD_RECALL_COUNT: String(recallCount) }),
};
const { settings } = await loadSettings({ home, env });
const log = await openLog({ folder: home.logFolder, redact: createRedactor([key]), level: settings.log.level });
{
  const fail = (problem: string): never => {
    throw new Error(problem);
  };
  const redact = createValueRedactor([key]);
  await using host = await openHost({
    home,
    settings,
    log,
    redact,
    scrub: redact,
    onProblem: fail,
    onFailed: (_agent, error) => fail(error.message),
    onCommitted: (agent, events) => {
      for (const event of events) {
        if (event.type === "agent-paused" && event.code !== "step-limit") fail(event.reason);
        if (event.type !== "command-finished") continue;
        if (event.observation.status !== "ok") fail(JSON.stringify(event.observation));
        log.info({ agent, seq: event.seq, step: event.step, status: event.observation.status }, event.type);
        meter.stepDone(event.step);
      }
    },
  });
  const spec = { name: "Bench", role: "a clerk who keeps a log", goals: ["Add one line at each step."] };
  const limits = { approve: "never", stepLimit: steps, background: true } as const;
  const { id } = await host.control.create({ ...spec, settings: limits });
  await host.supervisor.runners.get(id)?.settled();
  await host.supervisor.drain(0);
}
meter.report(home.database);
