import { describe, expect, it } from "@jest/globals";
import type { Observation } from "#core/call.ts";
import type { NewEvent } from "#core/event.ts";
import { describeFileStory, traceVersions } from "#views/file-story.ts";
import { asked, created, finished, log, observed, replied, requested } from "../helpers/events.ts";
import { historyOf } from "../helpers/file-history.ts";

const read = (step: number, file: string): readonly NewEvent[] =>
  stepOf(step, "read_file", { file }, { source: "workspace" });
const write = (step: number, file: string): readonly NewEvent[] =>
  stepOf(step, "write_to_file", { file, text: "t".repeat(9_000) }, { artifacts: [file] });
const stepOf = (
  step: number,
  name: string,
  args: Readonly<Record<string, unknown>>,
  observation: Partial<Observation>,
  recallIds: readonly string[] = [],
): readonly NewEvent[] => [
  { ...asked(step), recallIds },
  replied(step, `reply ${step}`),
  { ...requested(name, step), call: { name, args }, thought: `thought ${step}` },
  finished(step, observed("done", observation)),
];
async function* from(events: readonly NewEvent[]) {
  yield* log(...events);
}

describe("the story of a file", () => {
  const { versions } = historyOf([
    [3, "out.md", "write", "a"],
    [5, "out.md", "found", "b"],
    [5, "out.md", "append", "c"],
  ]);
  const events = [
    created(),
    ...read(1, "in.md"),
    ...read(2, "more.md"),
    ...stepOf(3, "write_to_file", { file: "out.md", text: "t".repeat(9_000) }, { artifacts: ["out.md"] }, ["foo/5"]),
    { type: "goals-changed", goals: ["Only this"] } as const,
    { type: "message-received", from: "person", text: "Look at last.md" } as const,
    ...read(4, "last.md"),
    ...write(5, "out.md"),
    ...read(6, "after.md"),
  ];

  it("has for each version its step, thought and command, and the sources read since the previous version", async () => {
    const [first, edit, second] = await traceVersions("foo", versions, from(events));
    expect(first).toMatchObject({
      version: 1,
      step: 3,
      by: "agent",
      thought: "thought 3",
      reply: "reply 3",
      goals: ["Find three strings", "Write them down"],
      command: { name: "write_to_file", args: { file: "out.md" } },
      recalledSteps: [1],
    });
    expect(first?.sources.map(({ what, step }) => [what, step])).toEqual([
      ["in.md", 1],
      ["more.md", 2],
    ]);
    expect(edit).toMatchObject({ by: "person", command: null, thought: "", operation: "found" });
    expect(second).toMatchObject({ by: "agent", goals: ["Only this"], thought: "thought 5", sources: [] });
    expect(edit?.sources.map(({ kind, what }) => [kind, what])).toEqual([
      ["person", "Look at last.md"],
      ["workspace", "last.md"],
    ]);
  });

  it("truncates the written text, since the file contains it", async () => {
    const [first] = await traceVersions("foo", versions, from(events));
    expect(String(first?.command?.args.text).length).toBeLessThan(300);
  });

  it("counts the sources that it leaves out", async () => {
    const many = Array.from({ length: 50 }, (_, at) => read(at + 1, `in-${at}.md`)).flat();
    const late = historyOf([[51, "out.md", "write", "a"]]).versions;
    const [story] = await traceVersions("foo", late, from([created(), ...many, ...write(51, "out.md")]));
    expect(story?.sources).toHaveLength(30);
    expect(story?.sources.at(-1)?.what).toBe("in-49.md");
    expect(story?.sourcesLeftOut).toBe(20);
  });

  it("takes neither failed reads nor writes for sources", async () => {
    const failed = stepOf(1, "read_file", { file: "gone.md" }, { status: "failed", source: "goald" });
    const [story] = await traceVersions(
      "foo",
      historyOf([[3, "out.md", "write", "a"]]).versions,
      from([created(), ...failed, ...write(2, "other.md"), ...write(3, "out.md")]),
    );
    expect(story?.sources).toEqual([]);
  });
});

describe("the story of a file that a cell wrote", () => {
  const code = 'import json\nwith open("out/plot.svg", "w") as f:\n    f.write("<svg/>")';
  const cell = (args: Readonly<Record<string, unknown>>, name = "run_code"): readonly NewEvent[] => [
    asked(1),
    replied(1, "reply 1"),
    { ...requested(name, 1), call: { name, args }, thought: "I plot it" },
    {
      ...requested("save_files", 1),
      ...{ callId: "c1.1", call: { name: "save_files", args: { files: [] } }, thought: "" },
    },
    { ...finished(1, observed("Saved 1 file.")), callId: "c1.1" },
    finished(1, observed("done")),
  ];
  const storyOf = async (events: readonly NewEvent[], path: string, callId = "c1.1") => {
    const { versions } = historyOf([[1, path, "write", "<svg/>"]]);
    const written = versions.map((version) => ({ ...version, callId }));
    const traced = await traceVersions("foo", written, from([created(), ...events]));
    return traced[0];
  };

  it("names the cell and the line of its code that names the file", async () => {
    const story = await storyOf(cell({ code }), "out/plot.svg");
    const source = 'with open("out/plot.svg", "w") as f:';
    expect(story?.cell).toEqual({ callId: "c1", command: "run_code", file: null, line: 2, source });
    expect(story?.thought).toBe("I plot it");
  });

  it("names the cell without a line when its code does not name the file, and the file that was run", async () => {
    const elsewhere = await storyOf(cell({ code }), "other.txt");
    expect(elsewhere?.cell).toEqual({ callId: "c1", command: "run_code", file: null, line: null, source: "" });
    const run = await storyOf(cell({ file: "plot.py" }, "execute_python_file"), "out/plot.svg");
    expect(run?.cell).toMatchObject({ command: "execute_python_file", file: "plot.py", line: null });
  });

  it("names no cell when another command wrote the file", async () => {
    expect((await storyOf(cell({ code }), "out/plot.svg", "c1"))?.cell).toBeNull();
    expect((await storyOf(cell({}, "work"), "out/plot.svg"))?.cell).toBeNull();
  });

  it("is told to a person with the line, and without the names of all saved files", async () => {
    const story = await storyOf(cell({ code }), "out/plot.svg");
    if (!story) throw new Error("no story");
    const { reply: _, finishReason: __, ...version } = story;
    const text = describeFileStory({
      ...{ agent: "foo", name: "Foo", path: "out/plot.svg", workspace: "/w", trusted: [] },
      versions: [{ ...version, thoughts: null }],
    });
    expect(text).toContain("write by run_code");
    expect(text).toContain('  Cell: run_code c1, line 2: with open("out/plot.svg", "w") as f:');
    expect(text).not.toContain("save_files");
  });
});
