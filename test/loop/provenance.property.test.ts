/**
 * The property: whatever an agent does, and whenever the process dies, files and agent never carry less than the words that
 * they may hold, and nothing that never reached the agent. An oracle follows the log with plain sets.
 */
import { expect, it } from "@jest/globals";
import fc from "fast-check";
import type { CommandCall } from "#core/call.ts";
import { GoaldError } from "#core/errors.ts";
import { stateOf } from "#views/read-agent.ts";
import { bytesOf } from "../helpers/events.ts";
import { addMole, type Loop, MOLE_FILE, makeLoop } from "../helpers/loop.ts";
import { append, numberedModel, write } from "../helpers/models.ts";
import type { ChatRequest } from "../helpers/openai-server.ts";
import { cutPowerAt, PowerCut, type When } from "../helpers/power-cut.ts";
import { cases } from "../helpers/waits.ts";

const FILES = ["a.md", "sub/b.md", "c.md"] as const;
type File = (typeof FILES)[number];
interface Segment {
  readonly steps: readonly CommandCall[];
  /** What a person does after the steps. */
  readonly after: { readonly trust: "all" | File | null; readonly edit: File | null };
}
interface Program {
  readonly segments: readonly Segment[];
  readonly crash: { readonly at: number; readonly when: When };
}

const file = fc.constantFrom(...FILES);
const host = fc.constantFrom("a.example", "b.example", "c.example");
const read = (path: string): CommandCall => ({ name: "read_file", args: { file: path } });
const download = (url: string, path: string): CommandCall => ({ name: "download_file", args: { url, file: path } });
const step: fc.Arbitrary<CommandCall> = fc.oneof(
  fc.tuple(host, file).map(([from, to]) => download(`https://${from}/x`, to)),
  fc.oneof(
    file.map((path) => write(path, "mine")),
    file.map((path) => append("more", path)),
    { weight: 2, arbitrary: file.map(read) },
  ),
  fc.record({ from: file, to: file }).map((args) => ({ name: "move_file", args })),
  host.map((from) => download(`https://${from}/broken`, "no.md")),
  fc.constant(read(MOLE_FILE)),
);
const program: fc.Arbitrary<Program> = fc.record({
  segments: fc.array(
    fc.record({
      steps: fc.array(step, { minLength: 1, maxLength: 5 }),
      after: fc.record({ trust: fc.constantFrom("all", "all", ...FILES, null), edit: fc.option(file) }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  crash: fc.record({ at: fc.integer({ min: 1, max: 40 }), when: fc.constantFrom("before", "after") }),
});

async function start({ segments }: Program): Promise<Loop> {
  const end: CommandCall = { name: "task_complete", args: { reason: "Done." } };
  const calls = segments.flatMap(({ steps }) => [...steps, end]);
  const loop = await makeLoop({
    script: (request) => numberedModel(calls)(request as unknown as ChatRequest),
    services: { downloads: { ready: true } },
    serving: {
      downloads: {
        get: async (url) => {
          if (url.includes("broken")) throw new GoaldError("GOALD_WEB", "It answered with 500.");
          return { url, contentType: "", bytes: bytesOf(`Words of ${url}\n`), holdsSecret: false };
        },
      },
    },
  });
  await addMole(loop, "child.example");
  return loop;
}

/** Runs the program; the process dies once, at any commit. */
async function runProgram(loop: Loop, { segments, crash }: Program): Promise<void> {
  const cut = cutPowerAt(crash.at, crash.when);
  let isAlive = true;
  const runOn = async (): Promise<void> => {
    if (isAlive)
      try {
        return void (await loop.run({ store: cut }));
      } catch (error) {
        if (!(error instanceof PowerCut)) throw error;
        isAlive = false;
      }
    await loop.run();
  };
  for (const [index, { after }] of segments.entries()) {
    await runOn();

    if (after.edit !== null && loop.files.has(after.edit)) loop.files.set(after.edit, bytesOf("edited"));
    if (after.trust === "all") await loop.tell({ type: "trust", what: "all" });
    else if (after.trust !== null) await loop.tell({ type: "trust", what: "file", path: after.trust });
    if (index < segments.length - 1) await loop.tell({ type: "say", from: "ada", text: "Go on." });
  }
  await runOn();
}

interface Oracle {
  readonly agent: Set<string>;
  readonly files: Map<string, Set<string>>;
}
/** `isStrict`: only what must be carried. Otherwise also what a call that touches a file may take along. */
async function follow({ store, row }: Loop, isStrict: boolean): Promise<Oracle> {
  const agent = new Set<string>();
  const files = new Map<string, Set<string>>();
  const calls = new Map<string, CommandCall>();
  const wordsIn = (path: unknown): Set<string> => files.get(String(path)) ?? new Set();
  const take = (words: Iterable<string>): void => {
    for (const word of words) agent.add(word);
  };
  for (const event of await store.read(row.id, 0, 10_000)) {
    if (event.type === "command-requested") calls.set(event.callId, event.call);
    if (event.type === "words-trusted") {
      if (event.what === "file") files.delete(event.path);
      else for (const set of [agent, files]) set.clear();
    }
    if (event.type !== "command-finished") continue;
    const { name = "", args = {} } = calls.get(event.callId) ?? {};
    const isOk = event.observation.status === "ok";
    if (name === "download_file") take([new URL(String(args.url)).host]);
    if (name === "read_file")
      take(args.file === MOLE_FILE ? ["foo-mole", "child.example"] : isOk ? wordsIn(args.file) : []);
    if (!isStrict && name === "append_to_file") take(wordsIn(args.file));
    if (!isStrict && name === "move_file") take([...wordsIn(args.from), ...wordsIn(args.to)]);
    // A missing file makes goald suggest other names.
    if (!isStrict && name === "read_file" && !isOk)
      take(["foo-mole", "child.example", ...[...files.values()].flatMap((set) => [...set])]);
    if (!isOk) continue;
    if (name === "download_file" || name === "write_to_file") files.set(String(args.file), new Set(agent));
    if (name === "append_to_file") files.set(String(args.file), new Set([...wordsIn(args.file), ...agent]));
    if (name === "move_file") {
      files.set(String(args.to), new Set([...wordsIn(args.from), ...(isStrict ? [] : agent)]));
      files.delete(String(args.from));
    }
  }
  return { agent, files };
}

it("files and agent have all outside sources that they must carry, and no others, after any crash", async () => {
  await fc.assert(
    fc.asyncProperty(program, async (given) => {
      const loop = await start(given);
      await runProgram(loop, given);
      const state = await stateOf(loop.store, loop.row);
      const [least, most] = [await follow(loop, true), await follow(loop, false)];
      const received = state.received.map(({ name }) => name);
      expect(received).toEqual(expect.arrayContaining([...least.agent]));
      expect([...most.agent]).toEqual(expect.arrayContaining(received));
      for (const path of FILES) {
        const last = await loop.store.lastFileVersion(loop.row.id, path);
        const found = last && last.seq > state.trustedSeq ? (last.outside ?? []).map(({ name }) => name) : [];
        const must = loop.files.has(path) ? [...(least.files.get(path) ?? [])] : [];
        expect([path, found]).toEqual([path, expect.arrayContaining(must)]);
        expect([path, [...(most.files.get(path) ?? [])]]).toEqual([path, expect.arrayContaining(found)]);
      }
      const copy = await loop.store.fork(
        loop.row.id,
        { name: "Copy", head: (await loop.events()).length, events: [] },
        "c",
      );
      expect(await loop.store.files(copy.id)).toEqual(await loop.store.files(loop.row.id));
      expect((await loop.store.verify()).problems).toEqual([]);
    }),
    { numRuns: cases(60) },
  );
});
