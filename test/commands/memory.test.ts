/** remember, correct_memory and forget_memory, in the loop on a store in memory. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { type CommandContext, succeed } from "#core/command.ts";
import type { MemoryRow, Recall } from "#core/ports/memory.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { fitRecalls, renderPassages } from "#prompt/recalls.ts";
import { AT } from "../helpers/events.ts";
import {
  closeProseLoops,
  type Loop,
  makeLoop,
  makeProseLoop,
  python,
  READS,
  reply,
  testCommand,
  WRITES,
} from "../helpers/loop.ts";
import { openHashEmbedder } from "../helpers/memory-rows.ts";
import { cutPowerAt, PowerCut } from "../helpers/power-cut.ts";

type Call = readonly [name: string, args: Readonly<Record<string, unknown>>];
/** Gets the id of the newest fact. */
type GivenCall = Call | ((newest: string) => Call);
const remember = (subject: string, attribute: string, value: string): Call => {
  return ["remember", { subject, attribute, value }];
};
const hour = (value: string): Call => remember("depot", "hour", value);
const correct = (id: string, text: string): Call => ["correct_memory", { id, text }];
const forget = (id: string): Call => ["forget_memory", { id }];
const look: Call = ["look", {}];
const END: Call = ["task_complete", { reason: "Done." }];

afterEach(closeProseLoops);

/** Stands for a command that reads a page. */
const lookCommand = testCommand("look", async () => succeed("Buy now.", { source: "web" }), {
  annotations: { ...READS, openWorld: true },
  effect: "pure",
});

type Options = Partial<Parameters<typeof makeLoop>[0]>;

/** Makes the calls, one a step. The model answers by what its log has, as it would answer the same prompt alike. */
async function play(calls: readonly Call[], options: Options = {}) {
  const played = await makeAgent(calls, options);
  await played.loop.run();
  return { ...played, ...(await outcomeOf(played.loop)) };
}

async function makeAgent(given: readonly GivenCall[], options: Options = {}) {
  const calls = [...given];
  const script = async () => {
    const { results, rows } = await outcomeOf(loop);
    const next = calls[results.length] ?? END;
    const [name, args] = typeof next === "function" ? next(factsOf(rows).at(-1)?.id ?? "") : next;
    return reply(name, args);
  };
  const settings = { stepLimit: calls.length, ...options.settings };
  const loop: Loop = await makeLoop({ commands: [lookCommand], ...options, script, settings });
  const goOn = async (more: readonly Call[]) => {
    calls.push(...more);
    await loop.tell({ type: "settings", stepLimit: calls.length });
    await loop.tell({ type: "resume" });
    await loop.run();
    return outcomeOf(loop);
  };
  return { loop, goOn };
}

async function outcomeOf(loop: Loop) {
  const rows = await loop.store.memories(loop.row.id, 0, 1_000);
  const results = (await loop.events()).flatMap((event) => {
    if (event.type !== "command-finished") return [];
    const { status, code, text } = event.observation;
    return [[status, ...(code ? [code] : []), text].join(" ")];
  });
  return { rows: rows.toSorted((a, b) => a.seq - b.seq), results };
}
const factsOf = (rows: readonly MemoryRow[]): readonly MemoryRow[] => rows.filter(({ kind }) => kind === "fact");

/** The rows that a prompt would show for this text. */
async function shownFor({ store, row }: Loop, text: string, excludeSteps: readonly number[] = []) {
  const memory = openLongTermMemory({
    store,
    embedder: openHashEmbedder(),
    report: (problem) => expect(problem).toBe(""),
  });
  const query = { agent: row.id, texts: [text], count: 10, excludeSteps: new Set(excludeSteps) };
  const recalls: readonly Recall[] = await memory.recall(query, new AbortController().signal);
  await memory.close();
  const lines = renderPassages(fitRecalls(recalls, 32_000)).split("\n");
  return lines.filter((line) => line !== "");
}

describe("remember", () => {
  it("notes a fact once, closes it by a later value, and tells both from what was known before", async () => {
    const { rows, results, loop } = await play([
      remember("Depot of the north", "opening hour", "6"),
      remember("the depot of  the North", "Opening-hour:", " 6 "),
      remember("depot of the north", "manager", "Ida"),
      remember("The Dépôt of the north", "opening hour", "7"),
    ]);
    const [old, manager, now, ...more] = factsOf(rows);
    expect([old?.text, manager?.text, now?.text, more]).toEqual([
      "Depot of the north: opening hour: 6",
      "depot of the north: manager: Ida",
      "The Dépôt of the north: opening hour: 7",
      [],
    ]);
    expect(results).toEqual([
      "ok Noted.",
      `ok This is known since step 1, as ${old?.id}. Nothing changed.`,
      "ok Noted.",
      `ok Noted. Until now it was: 6 (${old?.id}, step 1).`,
    ]);
    expect(old?.closed).toEqual({ by: now?.id, step: 4 });
    expect([manager?.closed, now?.closed, now?.trust, now?.step]).toEqual([undefined, undefined, "agent", 4]);
    expect((await loop.store.verify()).problems).toEqual([]);
  });

  it("notes a value that is true again, and leaves no row that shows a past value without its mark", async () => {
    const { loop, rows } = await play(["six", "seven", "six"].map(hour));
    const named = rows.filter(({ text }) => /six|seven/.test(text));
    expect(named.map(({ kind, text, closed }) => [kind, text, closed?.step])).toEqual([
      ["fact", "depot: hour: six", 2],
      ["fact", "depot: hour: seven", 3],
      ["fact", "depot: hour: six", undefined],
    ]);
    expect(await shownFor(loop, "depot hour")).toEqual([
      expect.stringMatching(/^\[foo\/\d+\.1, step 3\] depot: hour: six$/),
      expect.stringMatching(/, step 2, was so until step 3\] depot: hour: seven$/),
    ]);
  });

  it("says what a subject without letters lacks, and stores nothing", async () => {
    const { rows, results } = await play([remember("?", "hour", "7")]);
    expect(results).toEqual(["failed memory Expected a subject and an attribute with letters or digits."]);
    expect(factsOf(rows)).toEqual([]);
  });

  it("does not bring back a value that a person has corrected, and notes another one", async () => {
    const { loop, rows, goOn } = await play([hour("6")]);
    const words = { op: "add", kind: "fact", text: "It opens at nine.", importance: 1, trust: "person" } as const;
    await loop.store.curate(loop.row.id, [{ ...words, supersedes: factsOf(rows)[0]?.id ?? "" }], "k", AT);
    const { results } = await goOn([hour("6"), hour("9")]);
    expect(results.slice(1)).toEqual([
      "failed corrected-by-person A person has corrected this: It opens at nine. (foo/+1)",
      "ok Noted.",
    ]);
  });

  it("leaves a pinned fact unmarked, and notes the new one beside it", async () => {
    const { loop, rows, goOn } = await play([hour("6")]);
    const id = factsOf(rows)[0]?.id ?? "";
    await loop.store.curate(loop.row.id, [{ op: "pin", id }], "k", AT);
    const { results } = await goOn([hour("7")]);
    expect(results[1]).toBe(`ok Noted beside what a person has pinned: 6 (${id}, step 1).`);
    const [first, second] = await shownFor(loop, "depot hour");
    expect(first).toMatch(/, step \d+\] depot: hour: 6$/);
    expect(second).toMatch(/, step \d+\] depot: hour: 7$/);
  });

  it("carries what a tainted agent has read, and so does a note of a clean one that replaces it", async () => {
    const { rows } = await play([remember("a", "b", "1"), look, hour("6")]);
    expect(factsOf(rows).map(({ outside }) => outside)).toEqual([undefined, [{ from: "web", name: "" }]]);
    const { loop } = await play([remember("a", "b", "1"), look, correct("foo/7.1", "2")]);
    const [clean, corrected] = factsOf(await loop.store.memories(loop.row.id, 0, 99)).toSorted((a, b) => a.seq - b.seq);
    expect([clean?.id, clean?.outside]).toEqual(["foo/7.1", undefined]);
    expect([corrected?.supersedes, corrected?.outside]).toEqual(["foo/7.1", [{ from: "web", name: "" }]]);
  });
});

it("a past fact among the recalls comes behind the one that holds, with its mark, also when only its own words are asked for", async () => {
  const CHANGED = [remember("depot", "manager", "Anselm Krug"), remember("depot", "manager", "Frieda Nowak")];
  const { loop } = await play(CHANGED);
  for (const asked of ["Who runs the depot?", "Anselm Krug"]) {
    const shown = await shownFor(loop, asked);
    expect(shown.map((row) => /Krug|Nowak/.exec(row)?.[0])).toEqual(["Nowak", "Krug"]);
    expect(shown[1]).toContain(", was so until step 2]");
  }
  // It comes alone when the prompt shows the step of the one that holds.
  expect(await shownFor(loop, "Anselm Krug", [2])).toEqual([
    expect.stringMatching(/, was so until step 2\] depot: manager: Anselm Krug$/),
  ]);
});

describe("correct_memory", () => {
  it("replaces a fact by its right value, in either form, and a note by its right text", async () => {
    const write: Call = ["write_to_file", { file: "a.md", text: "b" }];
    const { rows, results } = await play([
      hour("6"),
      correct("[foo/7.1, step 1", "8"),
      correct("13.1", "Depot: hour: 9"),
      write,
      correct("25", " The file a.md has a b. "),
    ]);
    expect(results).toEqual([
      "ok Noted.",
      "ok Corrected: depot: hour: 8. foo/7.1 is never recalled again.",
      "ok Corrected: depot: hour: 9. foo/13.1 is never recalled again.",
      expect.stringMatching(/^ok /),
      "ok Corrected: foo/25 is never recalled again.",
    ]);
    const live = rows.filter(({ supersededBy }) => supersededBy === null);
    expect(live.map(({ kind, text }) => [kind, text])).toEqual([
      ["fact", "depot: hour: 9"],
      ["note", "The file a.md has a b."],
    ]);
  });

  it("does not touch a past fact, which would close the one that holds", async () => {
    const { results } = await play([...["6", "7"].map(hour), correct("7.1", "5")]);
    expect(results[2]).toBe(
      "failed memory-past foo/7.1 says what was so before foo/13.1. Correct foo/13.1 instead, or forget foo/7.1.",
    );
  });
});

it("forget_memory hides a row from every later recall and keeps its text for people, who may show it again", async () => {
  const { loop, rows, results } = await play([hour("6"), forget("foo/7.1"), forget("foo/7.1")]);
  expect(results.slice(1)).toEqual([
    "ok foo/7.1 is never recalled again.",
    "failed memory The memory foo/7.1 is never recalled again: foo/13.1 came after it.",
  ]);
  expect(rows.find(({ id }) => id === "foo/7.1")).toMatchObject({ text: "depot: hour: 6", supersededBy: "foo/13.1" });
  expect((await shownFor(loop, "depot hour")).join()).not.toContain("hour: 6");
  await loop.store.curate(loop.row.id, [{ op: "forget", id: "foo/13.1", by: "person" }], "k", AT);
  expect((await shownFor(loop, "depot hour"))[0]).toContain("depot: hour: 6");
  expect((await loop.store.verify()).problems).toEqual([]);
});

describe("an agent may not correct or forget", () => {
  it.each<[title: string, id: string, problem: RegExp]>([
    ["a person's row", "foo/+1", /^failed memory The memory foo\/\+1 has the words of a person\./],
    ["an ingested row", "foo/+2", /has a file that a person provided\. You can change only what you noted yourself/],
    ["a row that a person imported", "foo/+3", /was added by a person/],
    ["a pinned row", "foo/7.1", /A person has pinned the memory foo\/7\.1/],
    ["a shared row", "shared/+1", /belongs to shared\. You can change your own memories only/],
    ["a row of another agent", "bar/2", /belongs to bar/],
    ["a row with words of the web", "foo/13", /has a text from the web/],
    ["a row that does not exist", "foo/999", /There is no memory foo\/999\. Recalled memories begin with their id/],
    ["an id that is none", "the one about depots", /There is no memory foo\/the/],
    ["an empty id", " ", /There is no memory foo\//],
  ])("%s: the result explains, and nothing changes", async (_title, id, problem) => {
    const { loop, goOn } = await play([hour("6"), look]);
    const given = { op: "add", kind: "note", text: "x", importance: 1 } as const;
    const added = (["person", "file", "agent"] as const).map((trust) => ({ ...given, trust }));
    await loop.store.curate("foo", [...added, { op: "pin", id: "foo/7.1" }], "k", AT);
    await loop.store.curate("shared", [{ ...given, trust: "person" }], "k", AT);
    const before = await loop.store.memories("foo", 0, 99);
    const { results, rows } = await goOn([forget(id), correct(id, "y")]);
    expect([results[2], results[3]]).toEqual([expect.stringMatching(problem), results[2]]);
    expect(rows.filter(({ supersedes }) => supersedes !== null)).toEqual([]);
    expect(rows).toEqual(expect.arrayContaining([...before]));
  });

  it("by a command of the home that stages the write itself", async () => {
    const stage = async (_args: object, { stage }: CommandContext) => {
      stage({ kind: "memory", memoryKind: "note", text: "y", importance: 1, supersedes: "foo/+1" });
      return succeed("Done.");
    };
    const stager = testCommand("stager", stage, { annotations: WRITES, effect: "transactional" });
    const { loop, goOn } = await play([look], { commands: [lookCommand, stager] });
    await loop.store.curate("foo", [{ op: "add", kind: "note", text: "x", importance: 1, trust: "person" }], "k", AT);
    const { results, rows } = await goOn([["stager", {}]]);
    expect(results[1]).toMatch(/^failed memory The memory foo\/\+1 has the words of a person/);
    expect(rows.filter(({ text }) => text === "y")).toEqual([]);
  });
});

describe("the commands of memory", () => {
  it("are functions for code", async () => {
    const { loop } = await makeProseLoop("code", [`I note.\n\n${python("note")}`, "Done."], {
      note: async (_cell, _host, { call, print }) => {
        await call("remember", { subject: "depot", attribute: "hour", value: "6" });
        print(String(await call("remember", { subject: "depot", attribute: "hour", value: "7" })));
        print(String(await call("forget_memory", { id: "foo/99" }).catch((error: Error) => error.message)));
      },
    });
    await loop.run();
    const { rows, results } = await outcomeOf(loop);
    expect(factsOf(rows).map(({ text, closed }) => [text, closed !== undefined])).toEqual([
      ["depot: hour: 6", true],
      ["depot: hour: 7", false],
    ]);
    expect(results.join("\n")).toMatch(/Until now it was: 6[\s\S]*There is no memory foo\/99/);
  });

  it("leave each fact once, closed once, whatever commit a power cut meets", async () => {
    const calls = [hour("6"), hour("7"), (id: string) => correct(id, "8"), remember("gate", "code", "1"), forget];
    const cutAt = async (at: number) => {
      const { loop } = await makeAgent(calls);
      let isCut = false;
      await loop.run({ store: cutPowerAt(at, at % 2 === 0 ? "before" : "after") }).catch((error: unknown) => {
        expect(error).toBeInstanceOf(PowerCut);
        isCut = true;
      });
      await loop.run();
      const { rows } = await outcomeOf(loop);
      const facts = rows.map(({ kind, text, closed, supersededBy }) => {
        return [kind, text.split(" ")[0], closed?.step, supersededBy !== null];
      });
      return { isCut, facts, problems: (await loop.store.verify()).problems };
    };
    const whole = await cutAt(1_000);
    expect(whole.facts).toHaveLength(5);
    for (let at = 1; ; at++) {
      const { isCut, facts, problems } = await cutAt(at);
      if (!isCut) break;
      expect([at, facts, problems]).toEqual([at, whole.facts, []]);
    }
  });
});
