import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type Command, succeed } from "#core/command.ts";
import type { NewEvent, RecordedEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import type { InboxMessage, Store } from "#core/ports/store.ts";
import { activeFrame } from "#core/state.ts";
import { type BlobRef, HEAD_CHARS, isBlobRef, restoreValue } from "#core/text.ts";
import type { PrepareMove } from "#loop/ask-model.ts";
import { type Isolation, isolateCall } from "#loop/isolate-call.ts";
import { type Journal, type Outcome, openJournal, type Storing, storeValue } from "#loop/journal.ts";
import type { RunParts } from "#loop/run-parts.ts";
import { createValueRedactor } from "#util/redact.ts";
import {
  approved,
  created,
  FACTS,
  interrupted,
  isolated,
  log,
  requested,
  SPEC,
  said,
  started,
} from "../helpers/events.ts";
import { fakeClock, settle } from "../helpers/fake-clock.ts";
import { afterRun, done, type Loop, makeLoop, reply, testCommand, WRITES } from "../helpers/loop.ts";
import { type MemoryStore, openMemoryStore } from "../helpers/memory-store.ts";
import type { Script } from "../helpers/models.ts";
import { cutPoints, cutPowerAt, PowerCut, type When } from "../helpers/power-cut.ts";

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
  prepare?: (prepare: PrepareMove) => PrepareMove,
): Promise<void> {
  const change = { store: cutPowerAt(at, when), ...(prepare ? { prepare } : {}) };
  await expect(loop.run(change)).rejects.toThrow(PowerCut);
  const state = await loop.run(prepare ? { prepare } : {});
  expect(activeFrame(state).phase.kind).toBe("resting");
}

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
      (prepare: PrepareMove): PrepareMove =>
      async (move, journal) => {
        const work = await prepare(move, journal);
        if (move.kind !== "execute" || !work.intent) return work;
        const outcome = await work.perform(async () => false);
        const { events, files = [] } = outcome ?? { events: [] };
        return {
          intent: { events: [...work.intent.events, ...events], files: [...(work.intent.files ?? []), ...files] },
          perform: async () => ({ events: [] }),
        };
      };
    const loop = await makeLedger();
    await crashAndResume(loop, 3, "before", effectFirst);
    expect(loop.text("ledger.txt")).toBe(["line 1\n", ...lines].join(""));
  });
});

const ring = (bell: { rung: number }) =>
  testCommand("ring", async () => succeed(`Rung ${++bell.rung} times.`), { annotations: WRITES });

it.each([
  ["after its intent and before its effect", 2, "after", 0],
  ["after its effect and before its result", 3, "before", 1],
] as const)(
  "a command whose effect cannot be probed is never run again after a power cut %s",
  async (_title, at, when, rung) => {
    const bell = { rung: 0 };
    const loop = await makeLoop({ script: [reply("ring"), done()], commands: [ring(bell)] });
    await crashAndResume(loop, at, when);
    expect(bell.rung).toBe(rung);
    const text = expect.stringContaining("Look before you repeat it");
    expect((await loop.results())[0]).toMatchObject({ status: "unknown", text });
    expect(loop.prompt(-1)).toContain("unknown");
  },
);

it("a stored text that is missing is never replaced by its beginning: the agent stops and names it", async () => {
  const text = "line of text\n".repeat(4_000);
  const loop = await makeLoop({ script: [reply("write_to_file", { file: "long.txt", text }), done()] });
  await expect(loop.run({ store: cutPowerAt(2, "after") })).rejects.toThrow(PowerCut);
  const blind = (store: MemoryStore) => ({ ...cutPowerAt(99, "before")(store), blob: async () => undefined });
  await expect(loop.run({ store: blind })).rejects.toMatchObject({ code: "GOALD_STORE_DAMAGED" });
  expect(loop.text("long.txt")).toBeUndefined();
});

it("a file that a person changed since the crash is kept in the history before the overwrite is repeated", async () => {
  const loop = await makeLoop({ script: [reply("write_to_file", { file: "a.txt", text: "agent" }), done()] });
  await expect(loop.run({ store: cutPowerAt(4, "before") })).rejects.toThrow(PowerCut);
  loop.files.set("a.txt", Buffer.from("a week of work"));
  await loop.run();
  const contents = loop.store.commits
    .flatMap(({ files }) => files)
    .map(({ content }) => String(content && Buffer.from(content)));
  expect(contents).toContain("a week of work");
});

const note = testCommand(
  "note",
  async (_args, { stage }) => {
    stage({ kind: "memory", text: "The door is green.", importance: 1, memoryKind: "fact" });
    return succeed("Noted.");
  },
  { effect: "transactional", annotations: WRITES },
);

it.each(cutPoints(5))(
  "a staged memory exists exactly once after a power cut at commit %i, cut %s it",
  async (at, when) => {
    const script: Script = ({ messages }) => (messages.length > 2 ? done() : reply("note"));
    const loop = await makeLoop({ script, commands: [note] });
    await crashAndResume(loop, at, when);
    const rows = await loop.store.memories(loop.row.id, 0, 100);
    expect(rows.filter((row) => row.text === "The door is green.")).toHaveLength(1);
  },
);

/** A journal in memory, and a turn that `enter` gives or refuses. */
function makeParts(events: readonly NewEvent[], { isGiven = true, hasNoTimedCommits = false } = {}) {
  const all = [created(), requested(), approved(), ...events];
  const clock = fakeClock();
  const seen: string[] = [];
  const journal = {
    get state() {
      return replay(log(...all));
    },
    record: ({ events: more }: Outcome) => {
      all.push(...more);
      seen.push(...more.map(({ type }) => type));
    },
    commit: async () => void seen.push("commit"),
  } as unknown as Journal;
  const isolation: Isolation = {
    enter: async (backOffMs) => {
      seen.push(`enter after ${backOffMs}`);
      return isGiven;
    },
    leave: () => void seen.push("leave"),
  };
  const parts = { rules: { epoch: 9 }, clock, isolation, hasNoTimedCommits } as unknown as RunParts;
  return { journal, parts, clock, seen };
}
const FIRST_DEATH = [started("pure"), interrupted(2)];

describe("a suspect's command", () => {
  const TURN = ["commit", "enter after 1000", "call-isolated", "commit"];

  it("waits for its turn, runs alone with nested work, and gives it away when its result is durable", async () => {
    const { journal, parts, seen } = makeParts(FIRST_DEATH);
    const act = async () => {
      seen.push("act");
      return true;
    };
    expect(await isolateCall("c1", journal, parts, () => isolateCall("c1.1", journal, parts, act))).toBe(true);
    expect(seen).toEqual([...TURN, "act", "commit", "leave"]);
  });

  it("is one that a death made suspicious: any other runs at once and leaves no trace of this in the log", async () => {
    const { journal, parts, seen } = makeParts([]);
    expect(await isolateCall("c1", journal, parts, async () => true)).toBe(true);
    expect(seen).toEqual([]);
  });

  it("gives the turn away when it fails", async () => {
    const { journal, parts, seen } = makeParts(FIRST_DEATH);
    await expect(isolateCall("c1", journal, parts, () => Promise.reject(new Error("cut off")))).rejects.toThrow("cut");
    expect(seen.at(-1)).toBe("leave");
  });

  it("waits longer after each death, and does not run when the host shuts down before its turn", async () => {
    const deaths = [...FIRST_DEATH, isolated(2), interrupted(3)];
    const { journal, parts, seen } = makeParts(deaths, { isGiven: false });
    expect(await isolateCall("c1", journal, parts, () => Promise.reject(new Error("ran")))).toBe(false);
    expect(seen).toEqual(["commit", "enter after 4000"]);
  });

  it.each([
    ["30 s after one death", FIRST_DEATH, 30_000],
    ["60 s after two deaths", [...FIRST_DEATH, interrupted(3)], 60_000],
  ] as const)("lets others run beside it %s, and goes on", async (_title, events, aloneMs) => {
    const { journal, parts, clock, seen } = makeParts(events);
    const end = Promise.withResolvers<boolean>();
    const running = isolateCall("c1", journal, parts, () => end.promise);
    await clock.advance(aloneMs - 1);
    expect(seen).not.toContain("leave");
    await clock.advance(1);
    await settle();
    expect(seen.slice(-3)).toEqual(["call-cleared", "commit", "leave"]);
    expect(journal.state.isolated).toBeNull();
    end.resolve(true);
    expect(await running).toBe(true);
  });

  it("runs to its end when the disk is full as others may run beside it", async () => {
    const { journal, parts, clock, seen } = makeParts(FIRST_DEATH);
    const { commit } = journal;
    const end = Promise.withResolvers<boolean>();
    const running = isolateCall("c1", journal, parts, () => end.promise).catch((thrown) => thrown);
    await settle();
    Object.assign(journal, { commit: () => Promise.reject(new Error("The disk is full.")) });
    await clock.advance(30_000);
    expect(seen).not.toContain("leave");
    Object.assign(journal, { commit });
    end.resolve(true);
    expect(await running).toBe(true);
  });

  it("stays alone to its end in a recorded run", async () => {
    const { journal, parts, clock, seen } = makeParts(FIRST_DEATH, { hasNoTimedCommits: true });
    const end = Promise.withResolvers<boolean>();
    const running = isolateCall("c1", journal, parts, () => end.promise);
    await clock.advance(3_600_000);
    end.resolve(true);
    await running;
    expect(seen).toEqual([...TURN, "commit", "leave"]);
  });
});

async function openIn(commit?: (store: MemoryStore) => Store["commit"]) {
  const store = openMemoryStore();
  const clock = fakeClock();
  const { id } = await store.create(SPEC, "key", clock.now().toISOString());
  const shown: RecordedEvent[] = [];
  const journal: Journal = await openJournal(await store.claim(id), {
    store: commit ? { ...store, commit: commit(store) } : store,
    clock,
    remember: async () => [],
    scrub: (text) => text,
    onCommitted: (events) => shown.push(...events),
  });
  const textsInLog = async () =>
    (await store.read(id, 0, 100)).flatMap((event) => ("text" in event ? [event.text] : []));
  const deliver = (text: string, message: InboxMessage = { type: "say", from: "Ann", text }) =>
    store.deliver(id, text, message, clock.now().toISOString());
  return { journal, shown, textsInLog, deliver };
}

describe("a journal", () => {
  it("commits what is recorded while a commit is under way with the next one, and nothing when nothing is recorded", async () => {
    let meanwhile = () => {};
    let commits = 0;
    const { journal, shown, textsInLog } = await openIn((store) => async (...unit) => {
      commits++;
      meanwhile();
      meanwhile = () => {};
      await store.commit(...unit);
    });
    journal.record({ events: [said("one")] });
    meanwhile = () => journal.record({ events: [said("two")] });
    await journal.commit("now");
    expect(shown.map(({ seq }) => seq)).toEqual([2]);
    expect(await textsInLog()).toEqual(["one"]);
    await journal.commit("now");
    expect(await textsInLog()).toEqual(["one", "two"]);
    expect(shown.map(({ seq }) => seq)).toEqual([2, 3]);
    await journal.commit("now");
    expect(commits).toBe(2);
  });

  it("receives a row of the inbox once, also while the commit that consumes it is under way", async () => {
    let meanwhile = async () => {};
    const { journal, textsInLog, deliver } = await openIn((store) => async (...unit) => {
      await meanwhile();
      await store.commit(...unit);
    });
    await deliver("one");
    await journal.receiveInbox();
    meanwhile = async () => {
      meanwhile = async () => {};
      await deliver("two");
      await journal.receiveInbox();
      await journal.receiveInbox();
    };
    await journal.commit("now");
    await journal.commit("now");
    await journal.receiveInbox();
    await journal.commit("now");
    expect(await textsInLog()).toEqual(["one", "two"]);
  });

  it("records a pause from the inbox, and nothing else, with the reason that the host has for one", async () => {
    const { journal, shown, deliver } = await openIn();
    await deliver("one");
    await deliver("two", { type: "pause", reason: "Ann stops it." });
    await journal.receiveInbox({ code: "damaged", reason: "A text is gone." });
    await journal.commit("now");
    expect(shown.map((event) => [event.type, "reason" in event ? event.reason : ""])).toEqual([
      ["message-received", ""],
      ["agent-paused", "A text is gone."],
    ]);
  });

  it("makes one commit at a time, in order", async () => {
    const { journal, textsInLog } = await openIn();
    const commits = ["one", "two", "three"].map((text) => {
      journal.record({ events: [said(text)] });
      return journal.commit("now");
    });
    await Promise.all(commits);
    expect(await textsInLog()).toEqual(["one", "two", "three"]);
  });

  it("reads each event once when a commit ends during the read", async () => {
    let committing: Promise<void> | undefined;
    const { journal } = await openIn((store) => {
      const { read, commit } = store;
      const slow = async (...page: Parameters<typeof read>) => committing?.then(() => read(...page));
      Object.assign(store, { read: slow });
      return commit;
    });
    journal.record({ events: [said("one")] });
    committing = journal.commit("now");
    expect((await journal.eventsAfter(0, 100)).map(({ seq }) => seq)).toEqual([1, 2]);
  });

  it("keeps a draft whose commit failed, in front of what came meanwhile", async () => {
    let isFull = true;
    const { journal, textsInLog } = await openIn((store) => async (...unit) => {
      if (isFull) throw new Error("The disk is full.");
      await store.commit(...unit);
    });
    journal.record({ events: [said("one")] });
    const failing = journal.commit("now");
    journal.record({ events: [said("two")] });
    await expect(failing).rejects.toThrow("full");
    isFull = false;
    await journal.commit("now");
    expect(await textsInLog()).toEqual(["one", "two"]);
  });
});

const SECRET = "sk-test-1234567890abcdef";
const scrub = createValueRedactor([SECRET]);
const LONG = "å line of text\n".repeat(4_000);
/** Names that goald itself uses for its own words elsewhere in events. */
const OWN_NAMES = "code status type kind by mode source effect outcome at until approve".split(" ");

/** Stores texts in memory. */
function createStore(): Storing & { read(text: string | BlobRef): Promise<string> } {
  const texts = new Map<string, string>();
  return {
    scrub,
    spill: (text) => {
      const blob = texts.size.toString(16).padStart(64, "0");
      texts.set(blob, text);
      return { blob, bytes: Buffer.byteLength(text), head: text.slice(0, HEAD_CHARS).toWellFormed() };
    },
    read: async (text) => (typeof text === "string" ? text : (texts.get(text.blob) as string)),
  };
}
const forged = (json = false) => ({ blob: "f".repeat(64), bytes: 3, head: "abc", ...(json ? { json: true } : {}) });

describe("an argument", () => {
  it.each(OWN_NAMES)("called %s is scrubbed and spilled as any other", async (name) => {
    const schema = { type: "object", properties: { [name]: { type: "string", description: "text" } } } as const;
    const given: unknown[] = [];
    const run = async (args: Readonly<Record<string, unknown>>) => succeed(`Taken ${given.push(args[name])}.`);
    const take = testCommand("take", run, { args: schema, annotations: FACTS });
    const loop = await makeLoop({
      script: [reply("take", { [name]: `key ${SECRET}` }), reply("take", { [name]: LONG }), done()],
      commands: [take],
    });
    await loop.run({ scrub });
    expect(given).toEqual(["key [redacted]", LONG]);
    expect(JSON.stringify(await loop.events())).not.toContain(SECRET);
    const [, long] = await loop.of("command-requested");
    expect(isBlobRef(long?.call.args[name])).toBe(true);
  });

  it("is scrubbed and spilled at any depth, in names too", async () => {
    const store = createStore();
    const value = { code: [{ status: `a ${SECRET}`, [`type ${SECRET}`]: LONG }] };
    const stored = storeValue(value, "json", store);
    expect(JSON.stringify(stored)).not.toContain(SECRET);
    expect(JSON.stringify(stored).length).toBeLessThan(2 * HEAD_CHARS);
    const expected = { code: [{ status: "a [redacted]", "type [redacted]": LONG }] };
    expect(await restoreValue(stored, store.read)).toEqual(expected);
  });

  it("that looks like a reference to a text is given back as it is, and reads no text", async () => {
    const store = createStore();
    const value = { one: forged(), two: [forged(true)] };
    const stored = storeValue(value, "json", store);
    expect(JSON.stringify(stored)).not.toContain('"blob":"f');
    expect(await restoreValue(stored, store.read)).toEqual(value);
  });

  it("of any JSON comes back as it was, when it holds no secret", async () => {
    const any = fc.letrec((tie) => ({
      value: fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constant(LONG), fc.constant(forged()), tie("list")),
      list: fc.oneof(
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(fc.string(), tie("value"), { maxKeys: 4 }),
      ),
    })).value;
    await fc.assert(
      fc.asyncProperty(any, async (value) => {
        const json = JSON.parse(JSON.stringify(value));
        const store = createStore();
        expect(await restoreValue(JSON.parse(JSON.stringify(storeValue(json, "exact", store))), store.read)).toEqual(
          json,
        );
      }),
    );
  });
});

describe("what `prepare` returned", () => {
  const makeWitness = async (prepared: unknown) => {
    const seen: { probe: unknown[]; run: unknown[] } = { probe: [], run: [] };
    const command: Command = {
      ...testCommand("witness", async () => undefined, { annotations: FACTS, effect: "reconcilable" }),
      prepare: async () => prepared,
      run: async (_args, _context, given) => succeed(`Seen ${seen.run.push(given)}.`),
      probe: async (_args, _context, given) => (seen.probe.push(given) > 0 ? "not-done" : "unknown"),
    };
    return { loop: await makeLoop({ script: [reply("witness"), done()], commands: [command] }), seen };
  };

  it.each<[title: string, prepared: unknown]>([
    ["a text of 40,000 characters", { before: "é".repeat(40_000) }],
    ["long texts in nested objects and lists", { a: [{ before: LONG }, [LONG, { c: LONG }]] }],
    ["what resembles a reference to a text", { before: forged(), list: [forged(true)] }],
    ["half surrogate pairs and NUL, short and long", { short: "\ud800 \u0000", long: "\ud800\u0000".repeat(30_000) }],
    ["goald's own words as names", { code: LONG, status: "x", type: "exact", text: forged() }],
    ["a bare text", LONG],
    ["nothing", null],
  ])("comes back after a crash byte for byte: %s", async (_title, prepared) => {
    const { loop, seen } = await makeWitness(prepared);
    await expect(loop.run({ scrub, store: cutPowerAt(4, "before") })).rejects.toThrow(PowerCut);
    await loop.run({ scrub });
    expect(seen).toEqual({ probe: [prepared], run: [prepared, prepared] });
  });

  it.each<[title: string, prepared: unknown]>([
    ["in a text", { token: `Bearer ${SECRET}` }],
    ["in a name, deep inside", [{ a: { [SECRET]: 1 } }]],
  ])("is refused before the effect when it holds a known secret %s", async (_title, prepared) => {
    const { loop, seen } = await makeWitness(prepared);
    await loop.run({ scrub });
    expect(seen.run).toEqual([]);
    expect(await loop.of("command-started")).toHaveLength(1);
    expect((await loop.results())[0]).toMatchObject({
      status: "failed",
      code: "secret-prepared",
      text: expect.stringContaining("holds a secret"),
    });
    expect(JSON.stringify(loop.model.requests)).not.toContain(SECRET);
  });

  it.each<[title: string, prepared: unknown, words: string]>([
    ["is nested too deeply", JSON.parse(`${"[".repeat(3_000)}${"]".repeat(3_000)}`), "at most 64 levels"],
    ["holds what JSON cannot", { size: 10n }, "JSON"],
    ["is a function", () => 1, "JSON"],
  ])("is refused before the effect when it %s", async (_title, prepared, words) => {
    const { loop, seen } = await afterRun(makeWitness(prepared));
    expect(seen.run).toEqual([]);
    const text = expect.stringContaining(words);
    expect((await loop.results())[0]).toMatchObject({ status: "failed", code: "command-invalid", text });
  });
});

it.each([
  ["lists", "[", "]"],
  ["objects", '{"a":', "}"],
])(
  "a reply with arguments nested 5,000 levels deep is a bad one that names the depth, and is bought once: %s",
  async (_title, open, close) => {
    const nested = (levels: number): string =>
      `{"thoughts":{"text":"x"},"command":{"name":"do_nothing","args":{"a":${open.repeat(levels)}1${close.repeat(levels)}}}}`;
    const loop = await afterRun(makeLoop({ script: [nested(5_000), nested(600), done()] }));
    expect(loop.model.requests).toHaveLength(3);
    const problems = (await loop.of("reply-rejected")).flatMap((event) => event.problems);
    expect(problems).toEqual(Array(2).fill(expect.stringMatching(/at most 64 levels/)));
    expect((await loop.events()).at(-1)?.type).toBe("turn-finished");
  },
);
