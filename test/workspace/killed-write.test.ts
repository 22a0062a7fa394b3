import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "goald-killed-"));
});
afterEach(() => rm(folder, { recursive: true }));

describe("a writer that is killed with kill -9", () => {
  it("leaves the whole old or new file, and no leftover that is listed", async () => {
    for (const delayMs of [0, 1, 3, 7, 12]) {
      const child = spawn(process.execPath, [join(import.meta.dirname, "write.child.ts"), folder], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const over = once(child, "exit");
      await once(child.stdout, "data");
      await sleep(delayMs);
      child.kill("SIGKILL");
      await over;
      const text = await readFile(join(folder, "a.txt"), "utf8");
      expect(text === text.charAt(0).repeat(4 * 1024 * 1024)).toBe(true);
      const names = (await Array.fromAsync(openLocalWorkspace(folder).list(""))).map((file) => file.path);
      expect(names).toEqual(["a.txt"]);
    }
    await writeFile(join(folder, ".goald-0011.tmp"), "certainly left");
    await openLocalWorkspace(folder).write("b.txt", "");
    expect((await readdir(folder)).sort()).toEqual(["a.txt", "b.txt"]);
  });

  it("may leave an unfinished folder, which is never listed and is removed without following its links", async () => {
    const outside = await mkdtemp(join(tmpdir(), "goald-outside-"));
    await writeFile(join(outside, "mine.txt"), "mine");
    await mkdir(join(folder, ".goald-0022.tmp/deep"), { recursive: true });
    await writeFile(join(folder, ".goald-0022.tmp/deep/a.txt"), "a");
    await symlink(outside, join(folder, ".goald-0022.tmp/link"));
    const workspace = openLocalWorkspace(folder);
    expect(await Array.fromAsync(workspace.list(""))).toEqual([]);
    await workspace.write("new", "");
    expect(await readdir(folder)).toEqual(["new"]);
    expect(await readFile(join(outside, "mine.txt"), "utf8")).toBe("mine");
    await rm(outside, { recursive: true });
  });
});
