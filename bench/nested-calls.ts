/**
 * nested-calls.ts -- measures the cost of the calls that code makes: 1,000 that only look, which are committed in lots, beside
 * 1,000 of the same that reach outside, which have a commit each.
 *
 *   node bench/nested-calls.ts [calls]
 *
 * The real host on a real home, with a model server in this process that answers at once.
 */
import { mkdirSync, mkdtempDisposableSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { wrapCommits } from "../test/helpers/wrap-commits.ts";
import { cpuMs } from "./shared/meter.ts";
import { startServer, streamReply, writeReply } from "./shared/model-server.ts";
import { openBenchHome, openBenchHost } from "./shared/open-bench-host.ts";
import { readCount } from "./shared/read-count.ts";

const CALLS = readCount(0, "the calls", 1_000);

let commits = 0;
wrapCommits((commit) => {
  commits++;
  return commit();
});

using root = mkdtempDisposableSync(join(tmpdir(), "goald-bench-"));
using server = await startServer((_request, response, body) => {
  const [, name = ""] = /Use (look\w*)/.exec(body) ?? [];
  const command = body.includes("Command work ")
    ? { name: "task_complete", args: { reason: "Done." } }
    : { name: "work", args: { name } };
  streamReply(response, writeReply(command));
});

for (const name of ["look", "look_outside", "look", "look_outside"]) await measure(name);

/** A home with `work`, which calls the other command again and again. */
function writeCommands(folder: string): void {
  mkdirSync(join(folder, "commands"), { recursive: true });
  const facts = (isOutside: boolean): string =>
    `annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: ${isOutside} }`;
  for (const [name, isOutside] of [
    ["look", false],
    ["look_outside", true],
  ] as const)
    writeFileSync(
      join(folder, `commands/${name}.ts`),
      `export default { name: "${name}", summary: "looks.", args: { type: "object", properties: {} }, sends: [],
        ${facts(isOutside)}, effect: "pure", run: async () => "seen" };`,
    );
  writeFileSync(
    join(folder, "commands/work.ts"),
    `export default { name: "work", summary: "looks often.", timeoutMs: 600000,
      args: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
      ${facts(false)}, effect: "transactional",
      async run({ name }, context) {
        for (let call = 0; call < ${CALLS}; call++) await context.call(name, {});
        return "done";
      },
    };`,
  );
}

async function measure(command: string): Promise<void> {
  const folder = mkdtempSync(join(root.path, "run-"));
  writeCommands(join(folder, "home"));
  await using host = await openBenchHost(await openBenchHome(folder), server.baseUrl);
  const commitsBefore = commits;
  const cpuBefore = cpuMs();
  const startedAt = performance.now();
  const spec = { name: "Bench", role: "a clerk", goals: [`Use ${command} often.`] };
  const limits = { approve: "never", stepLimit: 5, background: true } as const;
  const { id } = await host.control.create({ ...spec, settings: limits });
  await host.supervisor.runners.get(id)?.settled();
  const spentMs = cpuMs() - cpuBefore;
  const state = host.supervisor.runners.get(id)?.state;
  if (state && state.framesPushed !== CALLS)
    throw new Error(`Expected ${CALLS} nested calls, counted ${state.framesPushed}.`);
  const figures = [
    `${commits - commitsBefore} commits`,
    `${Math.round(performance.now() - startedAt)} ms`,
    `${(spentMs / CALLS).toFixed(2)} ms of CPU a call`,
  ];
  console.log(`${command.padEnd(13)} ${CALLS} calls: ${figures.join(", ")}`);
  await host.supervisor.drain(0);
}
