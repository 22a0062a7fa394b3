import { type ChildProcess, spawn } from "node:child_process";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import appendToFile from "../../commands/append_to_file.ts";
import { call, type Desk, makeDesk, REFUSED_PATHS } from "./context.ts";

const file = "log.txt";
const read = (desk: Desk): Promise<string> => readFile(join(desk.folder, file), "utf8");

describe("append_to_file", () => {
  it("appends, and creates a missing file and its folders", async () => {
    await using desk = await makeDesk();
    const made = await call(appendToFile, { file: "logs/a.txt", text: "one\n" }, desk.context);
    const added = await call(appendToFile, { file: "logs/a.txt", text: "zwölf\n" }, desk.context);
    expect(made).toMatchObject({ status: "ok", artifacts: ["logs/a.txt"] });
    expect(added.text).toBe("Added 7 bytes to the end of logs/a.txt, which now has 11.");
    expect(await readFile(join(desk.folder, "logs/a.txt"), "utf8")).toBe("one\nzwölf\n");
  });

  it("appends the same text once per call", async () => {
    await using desk = await makeDesk();
    for (let round = 0; round < 3; round += 1) await call(appendToFile, { file, text: "ab" }, desk.context);
    expect(await read(desk)).toBe("ababab");
  });

  it("refuses paths outside the workspace before any write", async () => {
    await using desk = await makeDesk();
    for (const path of [...REFUSED_PATHS, "_goald/x"])
      await expect(call(appendToFile, { file: path, text: "x" }, desk.context)).rejects.toMatchObject({
        code: "GOALD_PATH_REFUSED",
      });
    expect(desk.changes).toEqual([]);
  });

  it("reads only the end of a long file in prepare", async () => {
    await using desk = await makeDesk();
    await desk.workspace.write(file, "x".repeat(10_000_000));
    let read = 0;
    const counting = new Proxy(desk.workspace, {
      get: (target, key) =>
        key === "read"
          ? async (path: string, range?: { offset: number; length: number }) => {
              const bytes = await target.read(path, range);
              read += bytes.length;
              return bytes;
            }
          : (Reflect.get(target, key) as () => unknown).bind(target),
    });
    await call(appendToFile, { file, text: "y" }, { ...desk.context, workspace: counting });
    expect(read).toBeLessThanOrEqual(2 * 4096);
  });
});

describe("append_to_file, probed after a crash", () => {
  const text = "second\n";
  const rows: readonly (readonly [string, string | null, string | null, string])[] = [
    ["nothing has happened", "first\n", "first\n", "not-done"],
    ["the file was missing and still is", null, null, "not-done"],
    ["the file was missing and is complete", null, "second\n", "done"],
    ["the file was missing and is torn", null, "sec", "not-done"],
    ["the text is there", "first\n", "first\nsecond\n", "done"],
    ["the text is there and something after it", "first\n", "first\nsecond\nthird\n", "done"],
    ["only its beginning is there", "first\n", "first\nsec", "not-done"],
    ["something else is there", "first\n", "first\nthird\n", "unknown"],
    ["its beginning and something else are there", "first\n", "first\nsecthird", "unknown"],
    ["the file was rewritten", "first\n", "FIRST\nsecond\n", "unknown"],
    ["the file is shorter", "first\n", "fir", "unknown"],
    ["the file is gone", "first\n", null, "unknown"],
    ["the file already ended with the same text", "second\n", "second\n", "not-done"],
    ["the file already ended with the same text and now has it twice", "second\n", "second\nsecond\n", "done"],
    ["the file is longer than its hashed end", "x".repeat(9000), `${"x".repeat(9000)}second\n`, "done"],
  ];
  it.each(rows)("%s", async (_title, before, after, expected) => {
    await using desk = await makeDesk();
    if (before !== null) await writeFile(join(desk.folder, file), before);
    const prepared = await appendToFile.prepare?.({ file, text }, desk.context);
    if (after === null) await desk.workspace.remove(file);
    else await writeFile(join(desk.folder, file), after);
    expect(await appendToFile.probe?.({ file, text }, desk.context, prepared)).toBe(expected);
    if (expected !== "not-done") return;
    await appendToFile.run({ file, text }, desk.context, prepared);
    expect(await read(desk)).toBe(`${before ?? ""}${text}`);
  });

  it("records an append in the history that the crash left out", async () => {
    await using desk = await makeDesk();
    const prepared = await appendToFile.prepare?.({ file, text }, desk.context);
    await writeFile(join(desk.folder, file), text);
    await appendToFile.probe?.({ file, text }, desk.context, prepared);
    expect(desk.changes).toMatchObject([{ operation: "found", path: file, bytes: text.length }]);
  });
});

describe("append_to_file, killed with kill -9", () => {
  const program = join(import.meta.dirname, "append.child.ts");
  const start = (desk: Desk, ...rest: string[]): ChildProcess =>
    spawn(process.execPath, [program, desk.folder, ...rest], { stdio: ["ignore", "pipe", "inherit"] });

  /** Kills the child when it prints `point` or when `until` resolves; returns its recorded preparation. */
  async function killAt(child: ChildProcess, point: string, until?: () => Promise<void>): Promise<unknown> {
    const over = new Promise((resolve) => child.once("exit", resolve));
    let said = "";
    await new Promise<void>((resolve) => {
      child.stdout?.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        if (said.includes(`${point}\n`)) resolve();
      });
      child.once("exit", () => resolve());
    });
    await until?.();
    child.kill("SIGKILL");
    await over;
    const recorded = /^prepared (.*)$/m.exec(said)?.[1];
    return recorded === undefined ? undefined : JSON.parse(recorded);
  }

  /** Repeats the recovery of the daemon for an interrupted call. */
  async function recover(desk: Desk, prepared: unknown, text: string): Promise<void> {
    const verdict = await appendToFile.probe?.({ file, text }, desk.context, prepared);
    if (verdict === "not-done") await appendToFile.run({ file, text }, desk.context, prepared);
    else expect(verdict).toBe("done");
  }

  it.each(["prepared", "ran"])("after it %s, appends its text exactly once", async (point) => {
    await using desk = await makeDesk();
    await writeFile(join(desk.folder, file), "first\n");
    const prepared = await killAt(start(desk, point, "7"), `at ${point}`);
    await recover(desk, prepared, "x".repeat(7));
    expect(await read(desk)).toBe(`first\n${"x".repeat(7)}`);
  });

  it("appends its text twice when it is run again without a probe (control)", async () => {
    await using desk = await makeDesk();
    await killAt(start(desk, "ran", "7"), "at ran");
    await call(appendToFile, { file, text: "x".repeat(7) }, desk.context);
    expect(await read(desk)).toBe("x".repeat(14));
  });

  it("keeps a torn append without the truncation (control)", async () => {
    await using desk = await makeDesk();
    await appendFile(join(desk.folder, file), "sec");
    await desk.workspace.append(file, "second\n");
    expect(await read(desk)).toBe("secsecond\n");
  });
});
