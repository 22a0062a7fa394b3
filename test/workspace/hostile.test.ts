import { execFileSync } from "node:child_process";
import {
  link,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Workspace } from "#core/ports/workspace.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { type Anchor, openFile, openFolder, openPlace } from "#workspace/resolve-path.ts";
import { namesIn } from "../contracts/workspace-builders.ts";

const SECRET = "a secret outside";
let home: string;
let folder: string;
beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), "goald-hostile-")));
  folder = join(home, "foo");
  await mkdir(folder);
  await mkdir(join(home, "outside"));
  await writeFile(join(home, "outside/secret.txt"), SECRET);
});
afterEach(() => rm(home, { recursive: true }));

const anchors: Anchor[] = ["descriptor", "real-path"];
const at = (path: string): string => join(folder, path);
const operations = (workspace: Workspace, path: string): Record<string, () => Promise<unknown>> => ({
  stat: () => workspace.stat(path),
  read: () => workspace.read(path),
  write: () => workspace.write(path, "pwned"),
  append: () => workspace.append(path, "pwned"),
  truncate: () => workspace.truncate(path, 0),
  remove: () => workspace.remove(path),
  "move from": () => workspace.move(path, "moved.txt"),
  "move to": () => workspace.move("real.txt", path),
  preserve: () => workspace.preserve(path),
});

describe.each(anchors)("a folder full of traps, protected by %s", (anchor) => {
  const traps: readonly (readonly [string, string, () => Promise<unknown>])[] = [
    ["a link to a file outside", "link_file", () => symlink("../outside/secret.txt", at("link_file"))],
    ["a link to a folder outside", "link_out/secret.txt", () => symlink(join(home, "outside"), at("link_out"))],
    ["a new file behind such a link", "link_out/new.txt", () => symlink(join(home, "outside"), at("link_out"))],
    ["a link upward", "up/outside/secret.txt", () => symlink("..", at("up"))],
    [
      "a chain of links",
      "one/secret.txt",
      async () => {
        await symlink("two", at("one"));
        await symlink("three", at("two"));
        await symlink("../outside", at("three"));
      },
    ],
    ["files of the process", "self/environ", () => symlink("/proc/self", at("self"))],
    ["the root folder of the process", "self/root/etc/passwd", () => symlink("/proc/self", at("self"))],
    ["a link to itself", "loop/x", () => symlink("loop", at("loop"))],
    ["a link to a missing file", "dangling", () => symlink("../outside/not-yet.txt", at("dangling"))],
    ["a link that stays inside", "inner", () => symlink("real.txt", at("inner"))],
    ["a hard link to a file outside", "twin.txt", () => link(join(home, "outside/secret.txt"), at("twin.txt"))],
    ["a pipe without a writer", "pipe", async () => execFileSync("mkfifo", [at("pipe")])],
    ["a device behind a link", "zero", () => symlink("/dev/zero", at("zero"))],
  ];

  it.each(traps)("refuses %s in every operation, and changes nothing outside", async (_title, path, plant) => {
    await writeFile(at("real.txt"), "real");
    await plant();
    const changes: unknown[] = [];
    const workspace = openLocalWorkspace(folder, (change) => changes.push(change), { anchor, own: true });
    for (const [name, act] of Object.entries(operations(workspace, path)))
      await expect(act().then((value) => `${name} gave ${value}`)).rejects.toMatchObject({
        code: expect.stringMatching(/^GOALD_(PATH_REFUSED|FILE)$/),
      });
    expect(changes).toEqual([]);
    expect(await readdir(join(home, "outside"))).toEqual(["secret.txt"]);
    expect(await readFile(join(home, "outside/secret.txt"), "utf8")).toBe(SECRET);
    expect(await namesIn(workspace)).toEqual(["real.txt"]);
  });

  it("refuses a pipe with a writer and a socket with a listener without waiting", async () => {
    await writeFile(at("real.txt"), "real");
    execFileSync("mkfifo", [at("pipe")]);
    await using both = await open(at("pipe"), "r+");
    const server = createServer().listen(at("socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    const workspace = openLocalWorkspace(folder, undefined, { anchor });
    for (const path of ["pipe", "socket"])
      for (const act of Object.values(operations(workspace, path)))
        await expect(act()).rejects.toMatchObject({ code: "GOALD_FILE" });
    expect((await both.stat()).isFIFO()).toBe(true);
    await new Promise((resolve) => server.close(resolve));
  });

  it("does not list files behind a link", async () => {
    await symlink("../outside", at("link_out"));
    await writeFile(at("a.txt"), "");
    const workspace = openLocalWorkspace(folder, undefined, { anchor });
    expect(await namesIn(workspace)).toEqual(["a.txt"]);
    await expect(namesIn(workspace, "link_out")).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
  });

  it("does not list names that no path can express", async () => {
    for (const name of [
      "a\u001b[31m",
      "b\nc",
      "d\\e",
      "f.",
      "g:h",
      "%2e%2e",
      "．．",
      ".goald-0123456789abcdef.tmp",
      "fine",
    ])
      await writeFile(at(name), "");
    const workspace = openLocalWorkspace(folder, undefined, { anchor });
    expect(await namesIn(workspace)).toEqual(["fine"]);
  });

  it("lets a person put the whole folder behind a link", async () => {
    await rename(folder, join(home, "elsewhere"));
    await symlink("elsewhere", folder);
    const workspace = openLocalWorkspace(folder, undefined, { anchor });
    await workspace.write("a/b.txt", "here");
    expect(await readFile(join(home, "elsewhere/a/b.txt"), "utf8")).toBe("here");
  });

  it("leaves no file open", async () => {
    const workspace = openLocalWorkspace(folder, undefined, { anchor });
    await symlink("../outside", at("link_out"));
    const everything = async (): Promise<void> => {
      for (const path of ["a/b/c.txt", "link_out/x", "a", "none/x", "../x"])
        await Promise.allSettled(Object.values(operations(workspace, path)).map((act) => act()));
      for await (const _file of workspace.list("")) break;
    };
    await everything();
    const before = (await readdir("/dev/fd")).length;
    for (let round = 0; round < 20; round += 1) await everything();
    expect((await readdir("/dev/fd")).length).toBeLessThanOrEqual(before + 2);
  });
});

describe("a folder that is swapped for a link between check and use", () => {
  const swap = async (): Promise<void> => {
    await rename(at("notes"), at("moved"));
    await symlink("../outside", at("notes"));
  };

  it("is still the checked folder, where folders are held open", async () => {
    await mkdir(at("notes"));
    const place = await openPlace(folder, "notes/new.txt", "make", "descriptor");
    if (!place) throw new Error("expected a place");
    await swap();
    await writeFile(place.file, "kept inside");
    await place[Symbol.asyncDispose]();
    expect(await readdir(join(home, "outside"))).toEqual(["secret.txt"]);
    expect(await readFile(at("moved/new.txt"), "utf8")).toBe("kept inside");
  });

  it("is noticed before anything is read, where paths are compared", async () => {
    await mkdir(at("notes"));
    await writeFile(at("notes/secret.txt"), "ours");
    const place = await openPlace(folder, "notes/secret.txt", "read", "real-path");
    if (!place) throw new Error("expected a place");
    await swap();
    await expect(openFile(place, 0)).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
    const inner = await openFolder(folder, "moved", "read", "real-path");
    await expect(inner?.verify()).resolves.toBeUndefined();
  });

  it("deceives a resolver that checks the real path only once (control)", async () => {
    await mkdir(at("notes"));
    const checked = join(await realpath(at("notes")), "new.txt");
    expect(checked.startsWith(folder)).toBe(true);
    await swap();
    await writeFile(checked, "leaked");
    expect(await readdir(join(home, "outside"))).toEqual(["new.txt", "secret.txt"]);
  });

  it("never leads outside, whatever the timing of the swaps", async () => {
    await mkdir(at("real"));
    const workspace = openLocalWorkspace(folder);
    let swapping = true;
    const swapper = (async () => {
      while (swapping) {
        await rename(at("real"), at("notes"));
        await rename(at("notes"), at("real"));
        await symlink("../outside", at("notes"));
        await rm(at("notes"));
      }
    })();
    for (let round = 0; round < 200; round += 1) {
      await workspace.write("notes/x.txt", "x").catch(() => undefined);
      const read = await workspace.read("notes/secret.txt").catch(() => undefined);
      expect(read && new TextDecoder().decode(read)).toBeUndefined();
    }
    swapping = false;
    await swapper.catch(() => undefined);
    expect(await readdir(join(home, "outside"))).toEqual(["secret.txt"]);
  });
});
