import { describe, expect, it } from "@jest/globals";
import type { ModelRequest } from "#core/ports/model.ts";
import { loadDetails } from "#views/agent-details.ts";
import { readingOf, restedHost } from "../helpers/host.ts";
import { reply } from "../helpers/loop.ts";
import { textIn } from "../helpers/models.ts";

const WORK = [
  reply("write_to_file", { file: "notes/a b.md", text: "one\n" }),
  reply("append_to_file", { file: "notes/a b.md", text: "two\n" }),
  reply("write_to_file", { file: "picture.bin", text: "x".repeat(40_000) }),
  reply("ask_user", { question: "Which city?" }),
];

/** `worker` has four steps and waits for an answer; `careful` waits for an approval. */
async function openReading() {
  let next = 0;
  const script = (request: ModelRequest): string =>
    (textIn(request).includes("Careful") ? WORK[2] : WORK[next++]) as string;
  const { world, host, control } = await restedHost({ script }, { Worker: {} });
  await world.create("Careful", { approve: "always" });
  host.supervisor.wake("careful");
  await host.quiet();
  return { world, control, reading: await readingOf(world, host) };
}

describe("the reading of a store", () => {
  it("lists agents, finds one by id and by name, reports on it, and checks what is stored", async () => {
    const { reading } = await openReading();
    const agents = await reading.agents();
    expect(agents.map(({ id, state }) => [id, state])).toEqual([
      ["worker", "waiting: person"],
      ["careful", "waiting: approval"],
    ]);
    expect(await reading.agent("worker")).toEqual(agents[0]);
    expect(await reading.agent("WORKER")).toEqual(agents[0]);
    expect(await reading.report("worker")).toMatchObject({ id: "worker", state: "waiting: person", since: 0 });
    const whole = await reading.verify(null);
    expect([whole.agents, whole.problems]).toEqual([2, []]);
    expect((await reading.verify("worker")).agents).toBe(1);
  });

  it("shows an agent in full, with its state and its goals", async () => {
    const { reading, control, world } = await openReading();
    expect(await reading.details("worker")).toMatchObject({
      ...(await reading.agent("worker")),
      goals: ["Count"],
      files: [{ path: "notes/a b.md", changes: 2 }, { path: "picture.bin" }],
      agents: [],
      next: { todo: [{ command: 'goald say worker "…"' }] },
    });
    const { state, head, row, namesakes } = await reading.state("worker");
    expect([state.step, row.id, namesakes]).toEqual([4, "worker", ["worker"]]);
    expect((await reading.page("worker", 0, 1)).head).toBe(head);
    expect(await reading.goals("careful")).toEqual({ agent: "careful", goals: ["Count"], checks: [], isRead: true });
    // A host's view of another moment than the row: what the log says is of that moment, too.
    const viewsThen = () => control.viewAll([{ ...row, head: 5 }]);
    const { usage, ...then } = await loadDetails(row, world.store, viewsThen, world.clock.now());
    expect(then).toMatchObject({ step: 1, tokens: usage.inputTokens + usage.outputTokens, waiting: null });
    await control.pause("careful", "For the test.");
    await control.setGoals("careful", ["Rest"]);
    expect((await reading.goals("careful")).goals).toEqual(["Rest"]);
  });

  it("shows the plan of an agent, as it is and with changes that the agent has not read", async () => {
    const { reading, world, control } = await openReading();
    const none = { agent: "careful", turn: 1, plan: null, current: null, isRead: true };
    expect(await reading.plan("careful")).toEqual(none);
    const edits = [
      { kind: "add", parent: "0", goal: "Rest" } as const,
      { kind: "set", id: "0.0", state: "in_progress" } as const,
    ];
    await world.store.deliver("careful", "plan/k", { type: "plan", edits }, world.clock.now().toISOString());
    const rest = { id: "0.0", goal: "Rest", state: "in_progress", subtasks: [] };
    const plan = { id: "0", goal: "Count", state: "in_progress", subtasks: [rest] };
    expect(await reading.plan("careful")).toEqual({ ...none, plan, current: "0.0", isRead: false });
    await control.pause("careful", "For the test.");
    expect(await reading.plan("careful")).toEqual({ ...none, plan, current: "0.0", isRead: true });
  });

  it("lists what waits for a person, across agents, the oldest first, until the agent is paused or removed", async () => {
    const { world, control, reading } = await openReading();
    const [question, approval, ...others] = await reading.waiting();
    expect(others).toEqual([]);
    expect(question).toMatchObject({
      agent: "worker",
      name: "Worker",
      kind: "question",
      step: 4,
      question: "Which city?",
      reason: null,
      change: null,
      command: { name: "ask_user", args: { question: "Which city?" } },
    });
    const asked = (await world.events("careful")).find(({ type }) => type === "approval-asked");
    expect(approval).toMatchObject({
      agent: "careful",
      kind: "approval",
      step: 1,
      question: null,
      since: asked?.at,
      // The whole text, though it is kept outside the log.
      command: { name: "write_to_file", args: { file: "picture.bin", text: "x".repeat(40_000) } },
      thought: expect.any(String),
      change: { path: "picture.bin", against: null, added: 1, removed: 0, note: "" },
    });
    expect(approval?.reason).not.toBe("");
    await control.pause("careful", "For the test.");
    await control.remove("worker", { force: true, files: false });
    expect(await reading.waiting()).toEqual([]);
  });

  it("pages through events and steps, and shows one step with its exact prompt and its reply", async () => {
    const { reading, world } = await openReading();
    const all = await world.events("worker");
    expect(await reading.page("worker", 3, 2)).toEqual({ events: all.slice(3, 5), head: all.length });
    const { steps, last } = await reading.steps("worker", { after: 1, limit: 2 });
    expect(last).toBe(4);
    expect(steps).toMatchObject([
      { step: 2, turn: 1, command: "append_to_file", status: "ok", attempts: 1, approval: null, interruptions: 0 },
      { step: 3, turn: 1, command: "write_to_file", status: "ok" },
    ]);
    const [, third] = await Promise.all([2, 3].map((step) => reading.step("worker", step)));
    expect(steps[1]).toMatchObject({
      startedAt: third?.startedAt,
      endedAt: third?.endedAt,
      costUsd: third?.reply?.costUsd,
      tokens: (third?.reply?.usage.inputTokens ?? 0) + (third?.reply?.usage.outputTokens ?? 0),
      files: third?.files.map(({ path }) => path),
    });
    expect((await reading.steps("worker", { limit: 3 })).steps.map(({ step }) => step)).toEqual([2, 3, 4]);
    expect((await reading.steps("worker", { after: 3, limit: 9 })).steps).toMatchObject([
      { step: 4, command: "ask_user", status: null },
    ]);
    const step = await reading.step("worker", 1);
    expect(step).toMatchObject({
      agent: "worker",
      step: 1,
      command: { name: "write_to_file" },
      prompt: { exact: true, note: "" },
      reply: { text: WORK[0] },
      thoughts: { reasoning: "Because." },
      result: { status: "ok" },
      files: [{ path: "notes/a b.md", operation: "write" }],
    });
    await expect(reading.step("worker", 9)).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
  });

  it("lists files, and shows their content now and after a step", async () => {
    const { reading } = await openReading();
    const { files, versions, workspace } = await reading.files("worker");
    expect(files.map(({ path }) => path)).toEqual(["notes/a b.md", "picture.bin"]);
    expect([versions.length, workspace]).toEqual([3, "/home/workspace/worker"]);
    const path = "notes/a b.md";
    expect(await reading.file("worker", path, null)).toEqual({
      agent: "worker",
      path,
      step: null,
      bytes: 8,
      encoding: "utf8",
      content: "one\ntwo\n",
    });
    expect(await reading.file("worker", path, 1)).toMatchObject({ step: 1, content: "one\n" });
    await expect(reading.file("worker", path, 0)).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
    await expect(reading.file("worker", "other.md", null)).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
    await expect(reading.file("worker", "../../secret", null)).rejects.toMatchObject({
      code: "GOALD_PATH_REFUSED",
    });
  });

  it("tells the story of a file, compares steps and plans a restoration", async () => {
    const { reading } = await openReading();
    const path = "notes/a b.md";
    expect(await reading.fileStory("worker", path)).toMatchObject({
      agent: "worker",
      versions: [
        { version: 1, step: 1, goals: ["Count"], thoughts: { plan: "- go on" } },
        { version: 2, step: 2 },
      ],
    });
    await expect(reading.fileStory("worker", "x.md")).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
    const change = { path, change: "changed", added: 1, removed: 0 };
    expect(await reading.diff("worker", { from: 1, to: 2, paths: [] })).toMatchObject({
      agent: "worker",
      from: 1,
      to: 2,
      files: [change],
    });
    expect(await reading.diff("worker", { from: 1, paths: ["notes"] })).toMatchObject({
      to: null,
      files: [change],
    });
    expect((await reading.diff("worker", { paths: [] })).to).toBe(3);
    await expect(reading.diff("worker", { from: 2, to: 1, paths: [] })).rejects.toMatchObject({
      code: "GOALD_USAGE",
    });
    expect(await reading.restorePlan("worker", 1, [path])).toEqual({
      agent: "worker",
      step: 1,
      lastStep: 4,
      workspace: "/home/workspace/worker",
      files: [{ path, action: "write", bytesNow: 8, bytes: 4 }],
      clones: [],
    });
    await expect(reading.restorePlan("worker", 99, [])).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
  });

  it("reads memory: lists, pages, one row, a search and why a row exists", async () => {
    const { reading, control } = await openReading();
    const place = { name: "worker" };
    const [added] = await control.changeMemory(
      "worker",
      [{ op: "add", kind: "fact", text: "Ada leads", importance: 1, trust: "person" }],
      "k",
    );
    const { count, memories, namespace } = await reading.memories(place, { limit: 2 });
    expect([namespace, memories.length, count > 2]).toEqual(["worker", 2, true]);
    expect(await reading.memories(place, { kind: "fact", limit: 9 })).toMatchObject({ count: 1 });
    expect((await reading.memories({ ...place, shared: true }, { limit: 9 })).namespace).toBe("shared");
    const page = await reading.memoryPage(place, { after: 0, limit: 2 });
    expect(page.memories.map(({ change }) => change)).toEqual([1, 2]);
    const row = await reading.memory(place, added?.id ?? "");
    expect(row).toMatchObject({ text: "Ada leads", kind: "fact", namespace: "worker" });
    expect(row).not.toHaveProperty("vector");
    expect(await reading.memory(place, "+1")).toEqual(row);
    expect(await reading.searchMemory(place, "Ada", null)).toMatchObject({
      namespace: "worker",
      query: "Ada",
      recalls: [{ id: row.id }],
    });
    await expect(reading.memory(place, "+9")).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
  });
});
