/**
 * nested-calls.ts -- measures the cost of the calls that code makes: 1,000 that only look, which are committed in lots, beside
 * 1,000 of the same that reach outside, which have a commit each.
 *
 *   node bench/nested-calls.ts [calls]
 *
 * The real host on a real home, with a model server in this process that answers at once.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openHost } from "#app/host.ts";
import { findHome } from "#config/home.ts";
import { loadSettings } from "#config/load.ts";
import { openLog } from "#util/log.ts";
import { createRedactor, createValueRedactor } from "#util/redact.ts";
import { wrapCommits } from "../test/helpers/wrap-commits.ts";
import { readCount } from "./shared/read-count.ts";

const CALLS = readCount(0, "the calls", 1_000);
const KEY = "sk-bench-0123456789abcdefghij";

let commits = 0;
wrapCommits((commit) => {
  commits++;
  return commit();
});

const root = mkdtempSync(join(tmpdir(), "goald-bench-"));
const server = createServer((request, response) => {
  let body = "";
  request.on("data", (piece: Buffer) => {
    body += piece.toString();
  });
  request.on("end", () => {
    const [, name = ""] = /Use (look\w*)/.exec(body) ?? [];
    const command = body.includes("Command work ")
      ? { name: "task_complete", args: { reason: "Done." } }
      : { name: "work", args: { name } };
    const text = JSON.stringify({ thoughts: { text: "", reasoning: "", plan: "", criticism: "", speak: "" }, command });
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const choices = [{ index: 0, finish_reason: "stop", delta: { content: text } }];
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`data: ${JSON.stringify({ choices, usage })}\n\ndata: [DONE]\n\n`);
  });
});
server.listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));

try {
  for (const name of ["look", "look_outside", "look", "look_outside"]) await measure(name);
} finally {
  server.close();
  server.closeAllConnections();
  rmSync(root, { recursive: true, force: true });
}

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
  const folder = mkdtempSync(join(root, "run-"));
  const path = join(folder, "home");
  mkdirSync(path);
  writeCommands(path);
  const home = await findHome({
    flag: path,
    env: {},
    cwd: folder,
    checkout: undefined,
    userHome: folder,
    configHome: undefined,
    isTerminal: false,
    askTrust: async () => true,
    uid: process.getuid?.(),
  });
  const { port } = server.address() as AddressInfo;
  const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, GOALD_EMBEDDER: "offline" };
  const { settings } = await loadSettings({ home, env });
  const log = await openLog({ folder: home.logFolder, redact: createRedactor([KEY]), level: settings.logLevel });
  const redact = createValueRedactor([KEY]);
  const fail = (problem: string): never => {
    throw new Error(problem);
  };
  await using host = await openHost({
    ...{ home, settings, log, redact, scrub: redact, role: "foreground", onProblem: fail },
    onFailed: (_agent, error) => fail(error.message),
  });
  const [commitsBefore, cpuBefore, startedAt] = [commits, process.cpuUsage(), performance.now()];
  const spec = { name: "Bench", role: "a clerk", goals: [`Use ${command} often.`] };
  const limits = { approve: "never", stepLimit: 5, background: false } as const;
  const { id } = await host.control.create({ ...spec, settings: limits });
  await host.supervisor.runners.get(id)?.settled();
  const { user, system } = process.cpuUsage(cpuBefore);
  const cpuMs = (user + system) / 1_000;
  const state = host.supervisor.runners.get(id)?.state;
  if (state && state.framesPushed !== CALLS) fail(`Expected ${CALLS} nested calls, counted ${state.framesPushed}.`);
  const figures = [
    `${commits - commitsBefore} commits`,
    `${Math.round(performance.now() - startedAt)} ms`,
    `${(cpuMs / CALLS).toFixed(2)} ms of CPU a call`,
  ];
  console.log(`${command.padEnd(13)} ${CALLS} calls: ${figures.join(", ")}`);
  await host.supervisor.drain(0);
}
