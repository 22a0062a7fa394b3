/**
 * goald.ts -- the child of the bench that is goald: the real host on a real home, put together as the command line
 * does it, log file and redaction included, with the settings of src/goald.js for V8.
 */
import { setFlagsFromString } from "node:v8";
import { openBenchHome, openBenchHost } from "../shared/open-bench-host.ts";
import { readJob, startMeter } from "./meter.ts";

for (const flag of ["--semi-space-growth-factor=1", "--no-parallel-scavenge", "--heap-growing-percent=100"])
  setFlagsFromString(flag);
const { steps, baseUrl, folder, recallCount } = readJob();
const meter = startMeter(steps);
const home = await openBenchHome(folder);
{
  await using host = await openBenchHost(home, baseUrl, {
    ...(recallCount === undefined ? {} : { env: { GOALD_RECALL_COUNT: String(recallCount) } }),
    onCommitted: (agent, events, log) => {
      for (const event of events) {
        if (event.type === "agent-paused" && event.code !== "step-limit") throw new Error(event.reason);
        if (event.type !== "command-finished") continue;
        if (event.observation.status !== "ok") throw new Error(JSON.stringify(event.observation));
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
