import { describe, expect, it } from "@jest/globals";
import { defineCommand, succeed } from "#core/command.ts";
import { activeFrame } from "#core/state.ts";
import type { Prepare } from "#loop/perform.ts";
import { done, type Loop, makeLoop, reply } from "../helpers/loop.ts";
import type { MemoryStore } from "../helpers/memory-store.ts";
import { cutPowerAt, PowerCut, replaceCommit, type When } from "../helpers/power-cut.ts";

const STEPS = 12;
const lines = Array.from({ length: STEPS }, (_, at) => `line ${at + 1}\n`);
const script = [...lines.map((text) => reply("append_to_file", { file: "ledger.txt", text })), done()];
const makeLedger = (): Promise<Loop> =>
  makeLoop({ script: ({ messages }) => nextReply(messages.map((message) => message.content)) });

/** The model decides by the prompt alone, as a real one does: the same prompt gets the same reply. */
function nextReply(contents: readonly string[]): string {
  const written = contents.join("\n").matchAll(/line (\d+)\\n/g);
  const seen = Math.max(0, ...[...written].map((match) => Number(match[1])));
  return script[seen] as string;
}

async function crashAndResume(
  loop: Loop,
  at: number,
  when: When,
  prepare?: (prepare: Prepare) => Prepare,
): Promise<void> {
  const change = { store: cutPowerAt(at, when), ...(prepare ? { prepare } : {}) };
  await expect(loop.run(change)).rejects.toThrow(PowerCut);
  const state = await loop.run(prepare ? { prepare } : {});
  expect(activeFrame(state).phase.kind).toBe("resting");
}

/** Returns the moments before and after each of `commits` commits. */
const cutPoints = (commits: number): (readonly [at: number, when: When])[] =>
  Array.from({ length: commits }, (_, index) => index + 1).flatMap((at) => [
    [at, "before"],
    [at, "after"],
  ]);
/** append_to_file has a `prepare`, so its step commits request, reply and start; the last step has no `prepare`. */
const POINTS = cutPoints(3 * STEPS + 2 + 1);

describe("a power cut at every commit of a twelve-step run", () => {
  it.each(POINTS)("leaves each of the twelve effects exactly once: commit %i, cut %s it", async (at, when) => {
    const loop = await makeLedger();
    await crashAndResume(loop, at, when);
    expect(loop.text("ledger.txt")).toBe(lines.join(""));
    // A request is repeated only when its reply was not committed: a cut before the second commit of a step.
    const lostReply = at % 3 === 2 && when === "before";
    expect(loop.model.requests.length).toBe(STEPS + 1 + (lostReply ? 1 : 0));
  });

  it("doubles effects in a control run that writes the intent after the effect", async () => {
    const effectFirst =
      (prepare: Prepare): Prepare =>
      async (move, journal) => {
        const work = await prepare(move, journal);
        if (move.kind !== "execute" || !work.intent) return work;
        const outcome = await work.act(async () => false);
        const { events, files = [] } = outcome ?? { events: [] };
        return {
          intent: { events: [...work.intent.events, ...events], files: [...(work.intent.files ?? []), ...files] },
          act: async () => ({ events: [] }),
        };
      };
    let isDoubled = false;
    for (const [at, when] of POINTS) {
      if (isDoubled) break;
      const loop = await makeLedger();
      await crashAndResume(loop, at, when, effectFirst).catch(() => undefined);
      isDoubled = loop.text("ledger.txt") !== lines.join("");
    }
    expect(isDoubled).toBe(true);
  });
});

describe("a command whose effect cannot be probed", () => {
  const ring = (bell: { rung: number }) =>
    defineCommand({
      name: "ring",
      label: "Ring",
      summary: "Rings the bell.",
      args: { type: "object", properties: {} },
      annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
      run: async () => {
        bell.rung++;
        return succeed("Rung.");
      },
    });

  it.each([
    ["after its intent and before its effect", 2, "after", 0],
    ["after its effect and before its result", 3, "before", 1],
  ] as const)("is never run again after a power cut %s", async (_title, at, when, rung) => {
    const bell = { rung: 0 };
    const loop = await makeLoop({ script: [reply("ring"), done()], commands: [ring(bell)] });
    await crashAndResume(loop, at, when);
    expect(bell.rung).toBe(rung);
    const [finished] = await loop.of("command-finished");
    expect(finished?.observation).toMatchObject({
      status: "unknown",
      text: expect.stringContaining("Look before you repeat it"),
    });
    expect(loop.prompt(-1)).toContain("unknown");
  });
});

describe("a stored text that is missing", () => {
  it("is never replaced by its beginning: the agent stops and names what is missing", async () => {
    const text = "line of text\n".repeat(4_000);
    const loop = await makeLoop({ script: [reply("write_to_file", { file: "long.txt", text }), done()] });
    await expect(loop.run({ store: cutPowerAt(2, "after") })).rejects.toThrow(PowerCut);
    const blind = (store: MemoryStore) => ({ ...cutPowerAt(99, "before")(store), blob: async () => undefined });
    await expect(loop.run({ store: blind })).rejects.toMatchObject({ code: "GOALD_STORE_DAMAGED" });
    expect(loop.text("long.txt")).toBeUndefined();
  });
});

describe("a file that a person changed between crash and resume", () => {
  it("is kept in the history before an interrupted overwrite is repeated", async () => {
    const loop = await makeLoop({ script: [reply("write_to_file", { file: "a.txt", text: "agent" }), done()] });
    await expect(loop.run({ store: cutPowerAt(4, "before") })).rejects.toThrow(PowerCut);
    loop.files.set("a.txt", Buffer.from("a week of work"));
    await loop.run();
    const kept = loop.store.commits
      .flatMap((commit) => commit.files)
      .map((file) => file.content && Buffer.from(file.content).toString());
    expect(kept).toContain("a week of work");
  });
});

describe("a memory that a command stages", () => {
  const note = defineCommand({
    name: "note",
    label: "Note",
    summary: "Notes.",
    effect: "transactional",
    args: { type: "object", properties: {} },
    annotations: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
    run: async (_args, { stage }) => {
      stage({ kind: "memory", text: "The door is green.", importance: 1, memoryKind: "fact" });
      return succeed("Noted.");
    },
  });

  it.each(cutPoints(5))("exists exactly once after a power cut at commit %i, cut %s it", async (at, when) => {
    const loop = await makeLoop({
      script: ({ messages }) => (messages.length > 2 ? done() : reply("note")),
      commands: [note],
    });
    await crashAndResume(loop, at, when);
    const rows = await loop.store.memories(loop.row.id, 0, 100);
    expect(rows.filter((row) => row.text === "The door is green.")).toHaveLength(1);
  });
});

describe("a second host", () => {
  it("fences off the first one, whose late write is refused completely", async () => {
    const loop = await makeLedger();
    const before = (await loop.events()).length;
    await expect(
      loop.run({
        store: (store) =>
          replaceCommit(store, async (lease, head, unit) => {
            await store.claim(lease.agent);
            return store.commit(lease, head, unit);
          }),
      }),
    ).rejects.toMatchObject({ code: "GOALD_FENCED" });
    expect((await loop.events()).length).toBe(before);
  });
});
