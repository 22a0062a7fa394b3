/** nested-points.ts -- a run with three levels of nested work, killed at chosen commits, resumed, and checked. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "@jest/globals";
import { replay } from "#core/evolve.ts";
import { endedWith, type Goald, lookInto, makeGoald } from "../helpers/goald.ts";
import { NESTED_LINES, nestedModel, writeNestedCommands } from "../helpers/nested-home.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { killUnder, runUnder } from "../helpers/under-hooks.ts";

const HOOK = fileURLToPath(new URL("../helpers/kill-at-event.child.ts", import.meta.url));
export const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"];
/** Model calls of a whole run: outer, inner and result of the sub-task, end. */
const ASKED = 4;

export async function openNestedHome(options: Parameters<typeof writeNestedCommands>[1] = {}) {
  const server = await startOpenAIServer({ reply: nestedModel, embeddings: null });
  const goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
  await writeNestedCommands(goald, options);
  return {
    goald,
    server,
    [Symbol.asyncDispose]: async () => {
      await goald[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The last event of each commit of a run that nobody kills. */
export async function findCommits(): Promise<readonly number[]> {
  await using home = await openNestedHome();
  const file = join(home.goald.cwd, "commits");
  await runUnder({ imports: [HOOK], env: { COMMIT_LOG: file } }, home.goald, RUN);
  await expectWhole(home.goald);
  return (await readFile(file, "utf8"))
    .split(/\s+/)
    .flatMap((each) => (each === "" ? [] : [Number(each.split(":")[1])]));
}

/** Resolves to the number of repeated model calls. */
export async function killAndResume(seq: number, when: "before" | "after"): Promise<number> {
  await using home = await openNestedHome();
  const { goald, server } = home;
  const killed = await killUnder({ imports: [HOOK], env: { KILL_AT_EVENT: `1:${seq}:${when}` } }, goald, RUN);
  expect(killed.signal).toBe("SIGKILL");
  const { log } = await lookInto(goald);
  endedWith(0, await goald.run(log.length === 0 ? RUN : ["resume", "t", "--json"]));
  await expectWhole(goald);
  return server.chats.length - ASKED;
}

async function expectWhole(goald: Goald): Promise<void> {
  const { log, problems } = await lookInto(goald);
  expect(problems).toEqual([]);
  expect(await goald.read("workspace/t/lines.txt")).toBe(NESTED_LINES);
  const ended = log.flatMap((event) => (event.type === "command-finished" ? [event.callId] : []));
  expect(ended).toEqual(["c1.1", "c1.2.c1.1", "c1.2.c1", "c1.2.c2", "c1.3", "c1", "c4"]);
  expect(replay(log)).toMatchObject({ frames: [{ id: 0, phase: { kind: "resting" } }], open: [] });
}
