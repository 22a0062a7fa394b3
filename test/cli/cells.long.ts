import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import type { Observation } from "#core/call.ts";
import type { RecordedEvent } from "#core/event.ts";
import { type DaemonHome, killAtEvent, killUnder, makeDaemonHome } from "../helpers/daemon-home.ts";
import { AGENT, endedWith, errorOf, type Goald, lookInto, playRecording, RUN } from "../helpers/goald.ts";
import { done } from "../helpers/loop.ts";
import { highestTask, numberedModel, replyWith, write } from "../helpers/models.ts";
import { openNestedHome } from "./kill-points.ts";

const cell = (code: string) => ({ name: "run_code", args: { code } });
const CELLS = [
  cell('numbers = [1, 2, 3]\nwrite_to_file("a.txt", "\\n".join(map(str, numbers)))\nlen(numbers)'),
  cell("numbers.append(4)\nnumbers.nothing.here"),
  cell('name = agent.run("Name the file.", str)\n[name, read_file(name), numbers]'),
];
const model = numberedModel(CELLS);

/** Plays the recording `t.ndjson` of a run that left this log, and expects all of it. */
const expectReplayed = async (goald: Goald, { length }: readonly RecordedEvent[]): Promise<void> =>
  expect(await playRecording(goald, "t.ndjson")).toMatchObject({
    same: true,
    problems: [],
    events: { all: length - 1 },
  });
const RECORDED_RUN = [...RUN, "--record", "t.ndjson"];

/** A home whose model runs three cells; the last one gives it a sub-task. */
const openHome = (): Promise<DaemonHome> =>
  makeDaemonHome([], {
    reply: (request) => {
      const isSubtask = request.messages.some(({ content }) => content.includes("Name the file."));
      if (!isSubtask || highestTask(request) > 3) return model(request);
      return request.messages.at(-1)?.content.includes("Name the file.") || highestTask(request) === 0
        ? replyWith({ name: "task_complete", args: { result: "a.txt" } })
        : model(request);
    },
  });
const isCell = (callId: string): boolean => /^c\d+$/.test(callId);
const resultsOf = (log: readonly RecordedEvent[]) =>
  log.flatMap((event) => (event.type === "command-finished" && isCell(event.callId) ? [event.observation] : []));

it("cells of a run keep their names, call commands and the model, and replay without a process", async () => {
  await using home = await openHome();
  const { goald } = home;
  endedWith(0, await goald.ask(RECORDED_RUN));
  const { log, problems } = await lookInto(goald);
  expect(problems).toEqual([]);
  expect(resultsOf(log)).toMatchObject([
    { status: "ok", text: "3" },
    { status: "failed", code: "cell-failed", text: expect.stringContaining("Line 2: numbers.nothing.here") },
    { status: "ok", text: expect.stringContaining("a.txt") },
    { status: "ok" },
  ]);
  expect(await goald.read("workspace/t/a.txt")).toBe("1\n2\n3");
  await expectReplayed(goald, log);

  const file = join(goald.cwd, "t.ndjson");
  const text = await readFile(file, "utf8");
  const lines = text.split("\n");
  expect(lines.filter((line) => line.includes('"type":"cell-ask"')).length).toBeGreaterThanOrEqual(3);
  // Control: other code asks for something else.
  await writeFile(file, text.replace('"call","name":"write_to_file"', '"call","name":"append_to_file"'));
  await playRecording(goald, file, 1);
  // A stranger's recording.
  await writeFile(file, text.replace('"what":"call"', '"what":"everything"'));
  expect(errorOf(await goald.ask(["replay", file, "--json"], { env: { TMPDIR: goald.cwd } }))).toMatchObject({
    message: expect.stringContaining("type cell-ask"),
  });
});

const PYTHON_CELLS = [
  cell("import random\nrolls = [random.random() for _ in range(3)]\nopen('rolls.txt', 'w').write(str(rolls))\nrolls"),
  cell(
    "import os\nos.makedirs('plots')\nopen('plots/a.svg', 'w').write('<svg></svg>')\nos.remove('rolls.txt')\nlen(rolls)",
  ),
  { name: "write_to_file", args: { file: "twice.py", text: "print(len(rolls) * 2)" } },
  { name: "execute_python_file", args: { file: "twice.py" } },
  cell("gen = (x for x in [1])\nopen('.envrc', 'w').write('rm -rf /')\n1"),
];

it("cells of Python share names and files, name pictures, ask about guarded files, and replay alone", async () => {
  await using home = await makeDaemonHome(PYTHON_CELLS);
  const { goald } = home;
  endedWith(0, await goald.run(RECORDED_RUN));
  const { log, problems } = await lookInto(goald);
  expect(problems).toEqual([]);
  const both = expect.arrayContaining(["plots/a.svg", "rolls.txt"]);
  expect(resultsOf(log)).toMatchObject([
    { status: "ok", artifacts: ["rolls.txt"] },
    { status: "ok", text: "3\nPictures: plots/a.svg.", artifacts: both },
    { status: "ok" },
    { status: "ok", text: "6" },
    { status: "failed", code: "cell-failed", text: expect.stringContaining("direnv") },
    { status: "ok" },
  ]);
  expect(await goald.read("workspace/t/plots/a.svg")).toBe("<svg></svg>");
  expect(await goald.read("workspace/t/rolls.txt")).toBeUndefined();
  expect(await goald.read("workspace/t/.envrc")).toBeUndefined();
  await expectReplayed(goald, log);
});

describe("a saved namespace that ends each process", () => {
  const POISONED = [
    cell("import os\nclass P:\n    def __reduce__(self): return (os._exit, (1,))\nx = P()"),
    cell("append_to_file('lines.txt', 'one\\n')\n6 * 7"),
    cell("7 * 6"),
  ];

  /** Runs the first cell, and the others in another process. `kills`: events at whose commit that process is killed, in turn. */
  async function runTwice(kills: readonly string[]) {
    await using home = await makeDaemonHome(POISONED);
    const { goald } = home;
    endedWith(6, await goald.run([...RUN, "--max-steps", "1"]));
    const resume = ["resume", "t", "--max-steps", "none", "--json"];
    for (const at of kills) {
      const killed = await killUnder(killAtEvent(at), goald, resume);
      expect(killed).toMatchObject({ code: null, signal: "SIGKILL" });
    }
    if (kills.length === 0) endedWith(0, await goald.ask("down"));
    endedWith(0, await goald.run(kills.length === 0 ? resume : ["resume", "t", "--json"]));
    const { log, problems } = await lookInto(goald);
    expect(problems).toEqual([]);
    expect(await goald.read("workspace/t/lines.txt")).toBe("one\n");
    expect(await goald.print("show t --step 2")).toContain(
      "Your variables could not be loaded and are gone: os, P and x.",
    );
    const finished = log.flatMap((event) => (event.type === "command-finished" ? [event] : []));
    const namespaces = log.flatMap((event) =>
      event.type === "namespace-saved" ? [[event.callId, event.definitions, event.values]] : [],
    );
    const rowOf = (id: string, { status, text }: Observation) => [id, status, isCell(id) ? text : ""];
    const results = finished.map(({ callId, observation }) => rowOf(callId, observation));
    return { finished, namespaces, results };
  }

  it("is given up with the same result after kill -9 at any time, and no call is made twice", async () => {
    const { finished, ...whole } = await runTwice([]);
    expect(whole.results).toEqual([
      ["c1", "ok", expect.any(String)],
      ["c2.1", "ok", ""],
      ["c2", "ok", "42\nYour variables could not be loaded and are gone: os, P and x."],
      ["c3", "ok", "42"],
      ["c4", "ok", expect.any(String)],
    ]);
    const [, nested = 0, outer = 0] = finished.map(({ seq }) => seq);
    // Each time the command has written its line, and no event says so.
    expect(await runTwice([`1:${nested}:before`, `1:${outer}:before`])).toMatchObject(whole);
  });
});

/** Longer than what a command shows of its arguments. */
const LONG_CELL = Array.from({ length: 60 }, (_, at) => `total_${at + 1} = ${at + 1}`).join("\n");
const LONG_FILE = Array.from({ length: 700 }, (_, at) => `print(${at + 1})`).join("\n");

describe("code that waits for a person", () => {
  let home: DaemonHome;
  beforeAll(async () => {
    const execute = { name: "execute_python_file", args: { file: "long.py" } };
    home = await makeDaemonHome([cell(LONG_CELL), write("long.py", LONG_FILE), execute]);
    endedWith(0, await home.goald.ask(["run", "-d", ...AGENT, "--approve", "always"]));
    await home.logged("approval-asked");
  });

  it("is shown whole, with line numbers, before the answer and by goald show", async () => {
    const shown = await home.goald.print("show t");
    expect(shown).toContain("Wants:      run_code {}");
    expect(shown).toContain("The code that would run (Python, 60 lines):");
    for (const line of LONG_CELL.split("\n")) expect(shown).toContain(`| ${line}\n`);
    expect(await home.goald.json("show t")).toMatchObject({ waiting: { code: { file: null, text: LONG_CELL } } });
    const approve = home.goald.openTerminal("approve t");
    await approve.see("60 | total_60 = 60");
    await approve.answer("Approve it?", "n");
    expect((await approve.ended).stdout).not.toContain("more lines");
  });

  it("is the file that would run, also of a paused agent; of more than 500 lines goald show has the rest", async () => {
    const { goald } = home;
    endedWith(0, await goald.ask(["deny", "t", "write it into a file"]));
    await home.logged("approval-asked", 2);
    endedWith(0, await goald.ask("approve t --yes"));
    await home.logged("approval-asked", 3);
    await goald.print("pause t");
    const approve = goald.openTerminal("approve t");
    await approve.see('The code that would run of "long.py" (Python, 700 lines, sha256');
    await approve.see("500 | print(500)");
    await approve.see("200 more lines");
    await approve.see("All of the code: goald show t");
    await approve.answer("Approve it?", "n");
    await approve.ended;
    expect(await goald.print("show t")).toContain("700 | print(700)");
  });
});

/** A command of a home with nested arguments. `labels` makes it unstrict. */
const command = (labels: string) => `export default {
  name: "plan_route",
  summary: "writes a route down.",
  args: {
    type: "object",
    properties: {
      stops: { type: "array", items: { $ref: "#/$defs/stop" }, minItems: 2 },
      by: { enum: ["foot", "train"], description: "how to travel" },
      ${labels}
    },
    required: ["stops"],
    $defs: {
      stop: {
        type: "object",
        properties: { town: { type: "string", description: "name of a town" }, nights: { type: "integer", minimum: 0 } },
        required: ["town"],
      },
    },
  },
  annotations: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  effect: "idempotent",
  async run({ stops, by = "foot" }: { stops: { town: string; nights?: number }[]; by?: string }, { workspace }: any) {
    const text = stops.map(({ town, nights = 0 }) => town + " " + nights).join("\\n");
    await workspace.write("route.txt", by + "\\n" + text);
    return "Planned " + stops.length + " stops.";
  },
};
`;
describe("a home's own command with nested arguments", () => {
  const LABELS = 'labels: { type: "object", additionalProperties: { type: "string" } },';

  it.each([
    ["a strict schema", "", true],
    ["a schema that no strict server takes", LABELS, false],
  ])("runs under %s, after a reply that its schema refuses", async (_title, labels, isStrict) => {
    const stopsFor = (nights: number) => [
      { town: "Ulm", nights: null },
      { town: "Bern", nights },
    ];
    const planned = (args: object) => replyWith({ name: "plan_route", args: { ...args } });
    const reply = [planned({ stops: stopsFor(-1), by: null }), planned({ stops: stopsFor(2), by: "train" }), done()];
    const files = { "commands/plan_route.ts": command(labels) };
    await using home = await makeDaemonHome([], { reply, files });
    const { goald, server } = home;
    endedWith(0, await goald.ask(["run", ...AGENT, "--continuous"]));
    expect(server.violations).toEqual([]);
    expect(await goald.read("workspace/t/route.txt")).toBe("train\nUlm 0\nBern 2");
    const [first] = server.chats;
    const stops = '"stops": [{"town": "<name of a town>", optional "nights": <nights>}]';
    expect(first?.messages[0]?.content).toContain(`args: ${stops}, optional "by": "<how to travel: foot|train>"`);
    expect(first?.response_format).toMatchObject({ json_schema: { strict: isStrict } });
    const { log, problems } = await lookInto(goald, "t");
    expect(problems).toEqual([]);
    expect(log.find((event) => event.type === "reply-rejected")).toMatchObject({
      problems: [expect.stringMatching(/"stops\.1\.nights" of plan_route must be >= 0/)],
    });
  });
});

describe("a person's own commands that nest work", () => {
  it.concurrent("are recorded and replay to the same state, also when they reach outside", async () => {
    for (const openWorld of [false, true]) {
      await using home = await openNestedHome({ openWorld });
      const { goald } = home;
      endedWith(0, await goald.ask(RECORDED_RUN));
      await expectReplayed(goald, (await lookInto(goald)).log);
      // Control: another result of the sub-task is another state.
      const file = join(goald.cwd, "t.ndjson");
      const text = await readFile(file, "utf8");
      await writeFile(file, text.replaceAll("line 5", "line 6").replaceAll("returned 5", "returned 6"));
      if (openWorld) await playRecording(goald, file, 1);
    }
  });

  it.concurrent("are recorded and replay when they take time between calls that only look", async () => {
    await using home = await openNestedHome();
    const { goald } = home;
    await goald.write(
      "commands/outer.ts",
      `export default {
        name: "outer", summary: "looks.", args: { type: "object", properties: {} }, effect: "transactional",
        annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
        async run(_args, context) {
          const look = () => context.call("search_files", { directory: "" });
          await look();
          await new Promise((resolve) => setTimeout(resolve, 1_500));
          return (await look()).status;
        },
      };`,
    );
    endedWith(0, await goald.ask(RECORDED_RUN));
    // A replay waits for nothing: the command is faster in it.
    const outer = await goald.read("commands/outer.ts");
    await goald.write("commands/outer.ts", String(outer).replace("1_500", "1"));
    await expectReplayed(goald, (await lookInto(goald)).log);
  });

  it.concurrent("show their nested work to a person", async () => {
    await using home = await openNestedHome();
    const { goald } = home;
    const shown = await goald.print(["run", ...AGENT, "--continuous"]);
    expect(shown).toContain("Use inner once. Then return 5.");
    expect(shown).toContain("The sub-task returned 5.");
    const why = await goald.print("why t lines.txt");
    expect(why).toContain('Command: append_to_file {"file":"lines.txt","text":"line 5\\n"}');
    expect(why).toMatch(/Version 2 of 3: step 2, .*, append by append_to_file/);
    const step = await goald.print("show t --step 1");
    expect(step).toContain('"name": "outer"');
    expect(step).toMatch(/Other calls: 5 calls, 2 steps, [\d,]+ tokens/);
    expect(step).toMatch(
      /\n {2}c1\.2 {2}sub-task "Use inner once\. Then return 5\.": ok.*\n {4}c1\.2\.m1 {2}step 2: ok.*\n {6}c1\.2\.c1 {2}inner: ok.*\n {8}c1\.2\.c1\.1 {2}append_to_file .*: ok/,
    );
    expect(step).toContain("The sub-task returned 5.");
    expect(await goald.print("show t --step 2")).toContain("exactly as sent");
    expect(await goald.print("show t --report")).toContain("lines.txt");
  });
});
