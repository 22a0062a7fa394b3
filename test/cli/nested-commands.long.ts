import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { endedWith, linesOf, lookInto } from "../helpers/goald.ts";
import { killAndResume, openNestedHome, RUN } from "./nested-points.ts";

describe("a person's own commands that nest work", () => {
  // nested.long.ts takes every commit.
  it.concurrent("are killed inside a nested call and inside a sub-task, and do everything once", async () => {
    expect(await killAndResume(12, "after")).toBe(0);
    expect(await killAndResume(24, "after")).toBe(0);
  });

  it.concurrent("are recorded and replay to the same state, also when they reach outside", async () => {
    for (const openWorld of [false, true]) {
      await using home = await openNestedHome({ openWorld });
      const { goald } = home;
      const file = join(goald.cwd, "t.ndjson");
      endedWith(0, await goald.ask([...RUN, "--record", file]));
      const { log } = await lookInto(goald);
      const played = endedWith(0, await goald.ask(["replay", file, "--json"], { env: { TMPDIR: goald.cwd } }));
      expect(linesOf(played).at(-1)).toMatchObject({ same: true, problems: [], events: { all: log.length - 1 } });
      // Control: another result of the sub-task is another state.
      const text = await readFile(file, "utf8");
      await writeFile(file, text.replaceAll("line 5", "line 6").replaceAll("returned 5", "returned 6"));
      if (openWorld) endedWith(1, await goald.ask(["replay", file, "--json"], { env: { TMPDIR: goald.cwd } }));
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
    const file = join(goald.cwd, "t.ndjson");
    endedWith(0, await goald.ask([...RUN, "--record", file]));
    // A replay waits for nothing: the command is faster in it.
    const outer = await goald.read("commands/outer.ts");
    await goald.write("commands/outer.ts", String(outer).replace("1_500", "1"));
    const played = endedWith(0, await goald.ask(["replay", file, "--json"], { env: { TMPDIR: goald.cwd } }));
    expect(linesOf(played).at(-1)).toMatchObject({ same: true, problems: [] });
  });

  it.concurrent("show their nested work to a person", async () => {
    await using home = await openNestedHome();
    const { goald } = home;
    const ended = endedWith(0, await goald.ask(RUN.filter((word) => word !== "--json")));
    expect(ended.stdout).toContain("Use inner once. Then return 5.");
    expect(ended.stdout).toContain("The sub-task returned 5.");
    const why = endedWith(0, await goald.ask(["why", "t", "lines.txt"]));
    expect(why.stdout).toContain('Command: append_to_file {"file":"lines.txt","text":"line 5\\n"}');
    expect(why.stdout).toMatch(/Version 2 of 3: step 2, .*, append by append_to_file/);
    const step = endedWith(0, await goald.ask(["show", "t", "--step", "1"]));
    expect(step.stdout).toContain('"name": "outer"');
    expect(step.stdout).toMatch(/Other calls: 5 calls, 2 steps, \d+ tokens/);
    expect(step.stdout).toMatch(
      /\n {2}c1\.2 {2}sub-task "Use inner once\. Then return 5\.": ok.*\n {4}c1\.2\.m1 {2}step 2: ok.*\n {6}c1\.2\.c1 {2}inner: ok.*\n {8}c1\.2\.c1\.1 {2}append_to_file .*: ok/,
    );
    expect(step.stdout).toContain("The sub-task returned 5.");
    const second = endedWith(0, await goald.ask(["show", "t", "--step", "2"]));
    expect(second.stdout).toContain("exactly as sent");
    const report = endedWith(0, await goald.ask(["show", "t", "--report"]));
    expect(report.stdout).toContain("lines.txt");
  });
});
