import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { SetAside } from "#core/ports/set-aside.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { type Anchor, bestAnchor } from "#workspace/resolve-path.ts";
import { measureSetAside, openSetAside } from "#workspace/set-aside.ts";
import { setAsideContract } from "../contracts/set-aside.ts";
import { MemorySetAside } from "../helpers/memory-set-aside.ts";
import { type Files, MemoryWorkspace } from "../helpers/memory-workspace.ts";
import { readTree } from "../helpers/restored-agent.ts";

const NOON = new Date("2026-11-20T12:00:00.000Z");
const LATER = new Date("2026-11-20T13:00:00.000Z");
const anchors = [...new Set<Anchor>([bestAnchor(), "real-path"])];

for (const anchor of anchors)
  setAsideContract(`The folder on the disk (${anchor})`, async () => {
    const root = mkdtempSync(join(tmpdir(), "goald-aside-"));
    const folder = join(root, "workspace/foo");
    return {
      workspace: openLocalWorkspace(folder),
      aside: openSetAside(folder, join(root, ".goald/aside/foo"), anchor),
      close: async () => rmSync(root, { recursive: true }),
    };
  });
setAsideContract("The fake", async () => {
  const files: Files = new Map();
  return { workspace: new MemoryWorkspace({ files }), aside: new MemorySetAside(files), close: async () => undefined };
});

describe.each(anchors)("folders that are set aside (%s)", (anchor) => {
  let root: string;
  let folder: string;
  let aside: SetAside;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "goald-aside-"));
    folder = join(root, "workspace/foo");
    mkdirSync(join(folder, "work/plain/inner"), { recursive: true });
    writeFileSync(join(folder, "work/plain/a.txt"), "a");
    symlinkSync("/etc", join(folder, "work/plain/inner/link"));
    aside = openSetAside(folder, join(root, ".goald/aside/foo"), anchor);
  });
  afterEach(() => rmSync(root, { recursive: true }));
  const PLAIN = { "work/plain/a.txt": "a", "work/plain/inner/link": "-> /etc" };

  it("are moved as a whole, with links as they are, into a private folder, and come back", async () => {
    expect(await aside.canMove()).toBe(true);
    expect(await aside.kindOf("work/plain")).toBe("folder");
    await aside.take("work/plain", "ab", NOON);
    expect([await aside.kindOf("work/plain"), await aside.find("ab")]).toEqual([
      "none",
      { state: "kept", folder: expect.stringMatching(/-ab$/) },
    ]);
    expect(statSync(join(root, ".goald/aside/foo")).mode & 0o077).toBe(0);
    await aside.removeEmpty("work");
    expect(readTree(folder)).toEqual({});
    await aside.putBack("ab", "work/plain");
    expect(readTree(folder)).toEqual(PLAIN);
    expect(await aside.find("ab")).toBeUndefined();
  });

  it("are not taken when they are a file, a link or missing, nor through a link", async () => {
    symlinkSync(join(root, "elsewhere"), join(folder, "link"));
    mkdirSync(join(root, "elsewhere/plain"), { recursive: true });
    for (const path of ["work/plain/a.txt", "link", "missing"])
      await expect(aside.take(path, "ab", NOON)).rejects.toMatchObject({ code: "GOALD_FILE" });
    await expect(aside.take("link/plain", "ab", NOON)).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
    expect(await aside.kindOf("link")).toBe("other");
    await aside.removeEmpty("link");
    expect(existsSync(join(root, "elsewhere/plain"))).toBe(true);
  });

  it("do not replace anything in their place, an empty folder neither", async () => {
    await aside.take("work/plain", "ab", NOON);
    mkdirSync(join(folder, "work/plain"));
    await expect(aside.putBack("ab", "work/plain")).rejects.toMatchObject({ code: "GOALD_FILE" });
    await expect(aside.putBack("cd", "work/other")).rejects.toMatchObject({ code: "GOALD_FILE" });
    expect((await aside.find("ab"))?.state).toBe("kept");
  });

  it("are measured by agent, without those that were discarded", async () => {
    await aside.take("work/plain", "ab", NOON);
    await aside.trim(0, LATER);
    mkdirSync(join(folder, "work/next"));
    await aside.take("work/next", "cd", LATER);
    expect(await measureSetAside(join(root, ".goald/aside"))).toEqual(
      new Map([["foo", { folders: 1, bytes: expect.any(Number) }]]),
    );
  });

  it("keep an earlier copy of the same folder, which a person may have made", async () => {
    await aside.take("work/plain", "ab", NOON);
    mkdirSync(join(folder, "work/plain"));
    await aside.take("work/plain", "ab", LATER);
    expect(readdirSync(join(root, ".goald/aside/foo"))).toHaveLength(2);
    await aside.putBack("ab", "work/plain");
    expect(readTree(folder)).toEqual({ "work/plain": "/" });
  });
});
