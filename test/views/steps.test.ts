import { afterEach, describe, expect, it } from "@jest/globals";
import { ALL_READY } from "#commands/registry.ts";
import { type CommandContext, succeed } from "#core/command.ts";
import type { EventOf, NewEvent, RecordedEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import { shownIds } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory.ts";
import { type AgentState, initialState } from "#core/state.ts";
import { type LongTermMemoryParts, openLongTermMemory, type RecallingMemory } from "#memory/recall/long-term-memory.ts";
import { BackgroundLots } from "#memory/recall/row-embedder.ts";
import { listNested, type NestedNode, NestedTree } from "#views/nested.ts";
import { planLines, proofLines } from "#views/plan-view.ts";
import { findBefore } from "#views/read-agent.ts";
import { nestedLines } from "#views/step-text.ts";
import { findStep } from "#views/step-view.ts";
import { asRecalled, rebuildPrompt } from "#views/whole-step.ts";
import { asked, created, FACTS, finished, log, replied, requested, words } from "../helpers/events.ts";
import { cellValue } from "../helpers/fake-sandbox.ts";
import { useShared } from "../helpers/folder.ts";
import {
  closeProseLoops,
  done,
  makeLoop,
  makeProseLoop,
  python,
  reply,
  shippedPromptParts,
  testCommand,
} from "../helpers/loop.ts";
import { fixedEmbedder, memoryRows, openHashEmbedder } from "../helpers/memory-rows.ts";

/** A command that does other work, as code in a cell does. */
const work = (act: (context: CommandContext) => Promise<unknown>) =>
  testCommand("work", async (_args, context) => succeed(JSON.stringify(await act(context))), {
    annotations: FACTS,
    effect: "transactional",
    timeoutMs: 600_000,
  });

/** The calls inside step 1. */
function nestedIn(events: readonly RecordedEvent[]) {
  const gathered = new NestedTree(1);
  for (const event of events) gathered.add(event);
  return listNested(gathered.roots);
}
const write = (text: string) => ({ file: "a.txt", text });
const USAGE = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, estimated: false };
const INTEGER = { type: "integer" } as const;

describe("the calls inside a step", () => {
  it("are a tree of calls, sub-tasks and their steps, with status, time, tokens and US dollars", async () => {
    const loop = await makeLoop({
      script: [
        reply("work", {}),
        reply("write_to_file", write("in a sub-task")),
        reply("task_complete", { result: 5 }),
        done(),
      ],
      priceOf: () => ({ input: 1, cachedInput: 1, output: 10 }),
      commands: [
        work(async ({ call, run }) => {
          await call("read_file", { file: "missing.txt" });
          await call("write_to_file", write("x".repeat(5_000)));
          return run("Count the words of a.txt. Then return the count.", INTEGER);
        }),
      ],
    });
    await loop.run();
    const nested = nestedIn(await loop.events());
    const shape = nested.rows.map(({ depth, callId, parent, kind, command, status }) => {
      return [depth, callId, parent, command === "" ? kind : command, status];
    });
    expect(shape).toEqual([
      [0, "c1.1", "c1", "read_file", "failed"],
      [0, "c1.2", "c1", "write_to_file", "ok"],
      [0, "c1.3", "c1", "sub-task", "ok"],
      [1, "c1.3.m1", "c1.3", "step", "ok"],
      [2, "c1.3.c1", "c1.3.m1", "write_to_file", "ok"],
      [1, "c1.3.m2", "c1.3", "step", "ok"],
      [2, "c1.3.c2", "c1.3.m2", "task_complete", "ok"],
    ]);
    const [missing, , task, first, , second] = nested.rows;
    expect(missing?.problem).toContain("missing.txt");
    expect([first?.step, second?.step]).toEqual([2, 3]);
    expect(first?.tokens).toBeGreaterThan(0);
    expect(first?.costUsd).toBeGreaterThan(0);
    expect(task?.tokens).toBe((first?.tokens ?? 0) + (second?.tokens ?? 0));
    expect(nested).toMatchObject({ calls: 4, steps: 2, tokens: task?.tokens, costUsd: task?.costUsd, leftOut: [] });
    expect(nestedLines(nested).join("\n")).toMatch(
      /^Other calls: 4 calls, 2 steps, [\d,]+ tokens, \$0\.00\d+\nc1\.1 {2}read_file \{"file":"missing\.txt"\}: failed, \d+ ms\n {2}There is no file/,
    );
  });

  it("have one row for repeats: 1,000 calls are a few lines", async () => {
    const loop = await makeLoop({
      script: [reply("work", {}), done()],
      commands: [
        work(async ({ call }) => {
          await call("write_to_file", write("one"));
          for (let count = 0; count < 998; count++) await call("read_file", { file: "a.txt" });
          return call("write_to_file", write("two"));
        }),
      ],
    });
    await loop.run();
    const lines = nestedLines(nestedIn(await loop.events()));
    expect(lines).toHaveLength(4);
    expect(lines[0]).toBe("Other calls: 1000 calls");
    expect(lines[2]).toMatch(/^c1\.2 to c1\.999 {2}read_file ×998, first \{"file":"a\.txt"\}: ok, \d+ ms$/);
  });

  it("are at most 200 rows, also when no call repeats the one before, and the others are counted", () => {
    const node = (at: number, inside: readonly NestedNode[] = []): NestedNode => ({
      kind: "call",
      callId: `c1.${at}`,
      step: 1,
      command: at % 2 === 0 ? "read_file" : "write_to_file",
      about: "",
      status: "ok",
      problem: "",
      startedAt: "2026-11-20T08:00:00.000Z",
      durationMs: 1,
      tokens: 1,
      costUsd: 0.5,
      inside: [...inside],
    });
    const first = { ...node(0), callId: "c1" };
    const nested = listNested([{ ...first, inside: Array.from({ length: 1_000 }, (_, at) => node(at + 1)) }]);
    expect(nested.rows).toHaveLength(200);
    expect(nested.leftOut).toEqual([
      { command: "write_to_file", times: 400 },
      { command: "read_file", times: 400 },
    ]);
    expect(nested).toMatchObject({ calls: 1_000, tokens: 1_000, costUsd: 500 });
    expect(nestedLines(nested).at(-1)).toBe("… and write_to_file ×400, read_file ×400");
    // The control: calls with something inside keep a row of their own.
    const deep = Array.from({ length: 5 }, (_, at) => node(2 * at, [node(100 + 2 * at)]));
    expect(listNested([{ ...first, inside: deep }]).rows).toHaveLength(10);
  });

  it("say which files a cell saved, by their paths", () => {
    const files = Array.from({ length: 7 }, (_, at) => ({ path: `${at}.svg`, sha256: "ab", bytes: 1 }));
    const saved = { ...requested("save_files", 1, { files }), callId: "c1.1" };
    expect(nestedLines(nestedIn(log(requested("run_code", 1), saved)))[1]).toBe(
      "c1.1  saves 0.svg, 1.svg, 2.svg, 3.svg, 4.svg and 2 more: under way",
    );
  });

  it("have no known price when a part has none, and no end while they run", () => {
    const spent = { usage: { ...USAGE, inputTokens: 7 }, costUsd: null, modelCalls: 1 };
    const inner = { ...requested("work", 1, {}), callId: "c1.1" };
    const waiting = { type: "command-waiting", step: 1, callId: "c1.1", waitFor: "time", until: null, spent } as const;
    const nested = nestedIn(log(requested("work", 1), inner, waiting));
    expect(nested.rows).toMatchObject([{ callId: "c1.1", status: null, durationMs: null, tokens: 7, costUsd: null }]);
    expect(nestedLines(nested)).toEqual([
      "Other calls: 1 call, 7 tokens, no known price",
      "c1.1  work: under way, 7 tokens, no known price",
    ]);
  });
});

async function* each(events: readonly RecordedEvent[]) {
  yield* events;
}

const by = { by: "agent", step: 1, callId: "c1.1" } as const;

async function viewOf(...events: readonly NewEvent[]) {
  const all = log(created(), asked(1), replied(1), requested("run_code", 1), ...events, finished(1));
  const found = await findStep(each(all), 1, initialState);
  if (!found) throw new Error("the log has no step 1");
  return found.view;
}

describe("a step that changed the plan", () => {
  it("lists each change with the id, goal and state of its task, also those of calls inside, and the checks", async () => {
    const view = await viewOf(
      { type: "task-added", parent: "0.1", task: { goal: "Bake", subtasks: [{ goal: "Knead" }] }, ...by },
      { type: "task-added", parent: "0.1.0", task: { goal: "Wait" }, ...by },
      { type: "task-changed", id: "0.1.0", state: "verified", ...by },
      ...["It exists.", "It is short."].map((proof, check): NewEvent => {
        return { type: "goals-checked", step: 1, callId: "c1.2", results: [{ check, isPassed: check === 0, proof }] };
      }),
    );
    expect(view.planChanges).toEqual([
      { seq: 5, id: "0.1.0", goal: "Bake", state: "open", isNew: true, subtasks: 1 },
      { seq: 6, id: "0.1.0.1", goal: "Wait", state: "open", isNew: true, subtasks: 0 },
      { seq: 7, id: "0.1.0", goal: "Bake", state: "verified", isNew: false, subtasks: 0 },
    ]);
    expect(planLines(view.planChanges)).toEqual([
      "Plan",
      "0.1.0 added, with 1 subtask: Bake",
      "0.1.0.1 added: Wait",
      "0.1.0 verified: Bake",
    ]);
    expect(proofLines(view.checks)).toEqual(["Checks of goals", "passed: It exists.", "failed: It is short."]);
  });

  it("shows the first fifty of many changes, and no heading when there are none", async () => {
    const many = Array.from(
      { length: 60 },
      (): NewEvent => ({ type: "task-added", parent: "0", task: { goal: "a" }, ...by }),
    );
    const lines = planLines((await viewOf(...many)).planChanges);
    expect([lines.length, lines.at(-1)]).toEqual([52, "… and 10 more changes"]);
    const none = await viewOf({ type: "task-added", parent: "0", task: { goal: "a" }, by: "person" });
    expect([planLines(none.planChanges), proofLines(none.checks)]).toEqual([[], []]);
  });
});

afterEach(closeProseLoops);

/** For each request: whether its prompt can be rebuilt exactly, and how that ends. */
async function rebuildAll(form: "plan" | "react" | "code", replies: readonly string[]) {
  const cells = { "1": () => ({ value: cellValue(1) }), "stop()": () => ({ stop: {} }) };
  const { loop, server } = await makeProseLoop(form, replies, cells, { services: ALL_READY });
  await loop.run();
  // Replies that are left over belong to a second turn.
  await loop.tell(words("And once more."));
  if (server.chats.length < replies.length) await loop.run();
  const parts = await shippedPromptParts(ALL_READY);
  let state = initialState;
  const rebuilt = [];
  for (const event of await loop.events()) {
    if (event.type === "model-asked") rebuilt.push(rebuildPrompt(event, state, [], parts));
    state = evolve(state, event);
  }
  return { rebuilt, chats: server.chats };
}

describe("a step of an old log", () => {
  /** Each tenth step has a sub-task of two steps of its own, each seventh a second attempt. */
  function oldLog(steps: number) {
    const events: NewEvent[] = [created()];
    for (let step = 1; step <= steps; step++) {
      events.push(asked(step), ...(step % 7 === 0 ? [asked(step, 2)] : []), replied(step), requested("work", step));
      const inner = step % 10 === 0 ? [step + 1, step + 2] : [];
      for (const own of inner) events.push({ ...asked(own), frame: 1 }, { ...replied(own), frame: 1 });
      events.push(finished(step));
      step += inner.length;
    }
    return log(...events);
  }
  /** A reader of a log, and the lengths of the pages that it has read. */
  const readerOf = (events: readonly RecordedEvent[]) => {
    const pages: number[] = [];
    const read = async (_agent: string, after: number, limit: number) => {
      const page = events.slice(after, after + limit);
      pages.push(page.length);
      return page;
    };
    return { reader: { read }, pages };
  };

  it("is found as in a reading of the whole log", async () => {
    const events = oldLog(200);
    const { reader } = readerOf(events);
    for (let step = 1; step <= 205; step++) {
      const start = await findBefore(step, { id: "foo", head: events.length }, reader);
      const whole = await findStep(each(events), step, initialState);
      const state = events.slice(0, start).reduce(evolve, initialState);
      expect(await findStep(each(events.slice(start)), step, state)).toEqual(whole);
    }
  });

  it("is found by reading as few events at any age", async () => {
    const readFor = async (steps: number): Promise<number> => {
      const events = oldLog(steps);
      const { reader, pages } = readerOf(events);
      await findBefore(Math.floor(steps / 3), { id: "foo", head: events.length }, reader);
      return pages.reduce((sum, length) => sum + length, 0);
    };
    const [young, old] = [await readFor(500), await readFor(20_000)];
    expect(old).toBeLessThan(3 * young);
    expect(old).toBeLessThan(1_500);
  });
});

const act = (action: string, args: object = {}): string => JSON.stringify({ action, args });
const PLANNED = [
  act("think", { thought: "One file." }),
  "No action.",
  act("write", { path: "a.md", content: "a" }),
  act("modify_task", { id: "0", state: "verified" }),
  act("finish"),
];

it.each([
  ["plan", PLANNED],
  ["react", [`Go.\nACTION 1:\n${python("1")}`, "No action.", `End.\nACTION 3:\n${python("stop()")}`]],
  ["code", [`Go.\n${python("1")}`, "Done.", `Again.\n${python("1")}`, "Done again."]],
] as const)("the prompt of a step is rebuilt exactly in the form %s", async (form, replies) => {
  const { rebuilt, chats } = await rebuildAll(form, replies);
  expect(rebuilt.map(({ exact, note }) => [exact, note])).toEqual(replies.map(() => [true, ""]));
  expect(rebuilt.map(({ messages }) => messages)).toEqual(chats.map(({ messages }) => messages));
  const later = rebuilt.slice(2).flatMap(({ messages }) => messages.map(({ content }) => content));
  const isLater = form === "code";
  expect(later.filter((content) => content.startsWith("Your memory of turn 1,"))).toHaveLength(isLater ? 2 : 0);
  expect(later.filter((content) => content.includes("And once more."))).toHaveLength(isLater ? 2 : 0);
});

it("a past fact in the prompt of an older step has the mark only when it was past by then, and not while it is pinned", () => {
  const row = memoryRows().add("foo", "depot: hour: 6", { kind: "fact", factKey: "k" });
  const closed = { by: "foo/20.1", step: 3 };
  const marks = [5, 20, 21].map((seq) => asRecalled({ ...row, closed }, seq).closed);
  expect(marks).toEqual([undefined, undefined, closed]);
  expect(asRecalled({ ...row, closed: { by: "foo/+2", step: null } }, 5).closed).toBeDefined();
  expect(asRecalled({ ...row, closed, pinned: true }, 21).closed).toBeUndefined();
});

type Asked = EventOf<"model-asked"> & RecordedEvent;
const PRICES = [113, 142, 97, 205, 88, 176];
const LONG = "The harbour has a crane that lifts boats. ".repeat(40);

type Parts = Pick<LongTermMemoryParts, "embedder" | "lots">;

/**
 * Runs an agent with a long memory and a series, and `notes` of a person, and returns its requests with what rebuilds their
 * prompts.
 */
async function runAgent(memoryParts: Parts = { embedder: openHashEmbedder() }, notes: readonly string[] = []) {
  let memory: RecallingMemory | undefined;
  const loop = await makeLoop({
    script: [
      ...PRICES.map((price, at) =>
        reply("append_to_file", { file: "list.md", text: `Listing ${301 + 7 * at} has a price of ${price} euros.` }),
      ),
      ...["soup", "beans", "bread", "salad", "rice", "tea"].map((dish) =>
        reply("write_to_file", { file: `${dish}.md`, text: `A recipe of ${dish}.` }),
      ),
      reply("search_files", { directory: "", text: "prices of listings and the crane in the harbour" }),
      done(),
    ],
    memory: {
      remote: false,
      recall: async (query, signal) => (await memory?.recall({ ...query, count: 5 }, signal)) ?? [],
    },
  });
  memory = openLongTermMemory({ store: loop.store, ...memoryParts, report: (problem) => expect(problem).toBe("") });
  const curated = notes.map((text) => ({ op: "add", kind: "note", text, importance: 0.5, trust: "person" }) as const);
  if (notes.length > 0) await loop.store.curate(loop.row.id, curated, "notes", loop.clock.now().toISOString());
  await loop.tell(words(`${LONG}\nNote the price of each listing.`));
  await loop.run();
  const parts = await shippedPromptParts({ plan: { ready: true }, memories: { ready: true }, tests: { ready: true } });
  const requests: { readonly asked: Asked; readonly state: AgentState; readonly rows: readonly MemoryRow[] }[] = [];
  let state = initialState;
  for (const event of await loop.events()) {
    if (event.type === "model-asked") {
      const rows = await Promise.all(shownIds(event).map((id) => loop.store.memory(loop.row.id, id)));
      requests.push({ asked: event, state, rows: rows.filter((row) => row !== undefined) });
    }
    state = evolve(state, event);
  }
  return { requests, parts, sent: loop.model.requests.map(({ messages }) => messages) };
}

describe("a prompt with recalls", () => {
  const run = useShared(() => runAgent());

  it("is rebuilt exactly from the log and the rows: cut texts, the rows around recalls, and series", () => {
    const { requests, parts, sent } = run;
    const rebuilt = requests.map(({ asked, state, rows }) => rebuildPrompt(asked, state, rows.toReversed(), parts));
    expect(rebuilt.map(({ exact, note }) => [exact, note])).toEqual(requests.map(() => [true, ""]));
    expect(rebuilt.map(({ messages }) => messages)).toEqual(sent);
    const shown = requests.flatMap(({ asked }) => asked.shown ?? []);
    for (const part of ["ranges", "with", "series"] as const)
      expect([part, shown.some((recall) => recall[part] !== undefined)]).toEqual([part, true]);
    expect(JSON.stringify(shown)).not.toMatch(/harbour|Listing/);
    expect(requests[0]?.asked).not.toHaveProperty("shown");
  });

  it("is rebuilt exactly although vectors made in the background changed what later steps recall", async () => {
    const embedder = fixedEmbedder();
    const notes = Array.from({ length: 400 }, (_, at) => `Note ${at} of the harbour, the crane and listing ${at}.`);
    const { requests, parts, sent } = await runAgent({ embedder, lots: new BackgroundLots(0) }, notes);
    // More requests than steps: the background worked during the run.
    expect(embedder.requests.length).toBeGreaterThan(requests.length);
    const rebuilt = requests.map(({ asked, state, rows }) => rebuildPrompt(asked, state, rows.toReversed(), parts));
    expect(rebuilt.map(({ exact }) => exact)).toEqual(requests.map(() => true));
    expect(rebuilt.map(({ messages }) => messages)).toEqual(sent);
  });

  it("is a reconstruction without that record, with other characters, or without one of the rows", () => {
    const { requests, parts } = run;
    const { asked, state, rows } = requests.findLast(({ asked: { shown = [] } }) =>
      shown.some(({ ranges }) => ranges),
    ) as (typeof requests)[number];
    const { shown = [], ...older } = asked;
    const isExact = (event: Asked, given = rows) => rebuildPrompt(event, state, given, parts).exact;
    expect(isExact(asked)).toBe(true);
    expect(isExact(older)).toBe(false);
    const moved = shown.map((recall) => ({
      ...recall,
      ...(recall.ranges ? { ranges: recall.ranges.map(([from, to]) => [from, to - 1] as const) } : {}),
    }));
    expect(isExact({ ...asked, shown: moved })).toBe(false);
    const nearIn = (of: Asked) => shownIds(of).filter((id) => !of.recallIds.includes(id));
    const request = requests.find((one) => nearIn(one.asked).length > 0) as (typeof requests)[number];
    const [near] = nearIn(request.asked);
    const left = request.rows.filter(({ id }) => id !== near);
    const fewer = rebuildPrompt(request.asked, request.state, left, parts);
    expect([fewer.exact, fewer.note]).toEqual([false, expect.stringContaining("no longer in the store: 1")]);
  });

  it("of an older event, which records only ids, is built again from the whole rows", () => {
    const { requests, parts } = run;
    const { asked, state, rows } = requests.at(-1) as (typeof requests)[number];
    const { shown: _shown, ...older } = asked;
    const { messages } = rebuildPrompt(older, state, rows, parts);
    const block = messages.at(-1)?.content ?? "";
    for (const id of asked.recallIds) expect(block).toContain(`[${id}, `);
    expect(block).not.toMatch(/^\(/m);
  });
});
