import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { findNewestFiles } from "#workspace/newest-files.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "goald-newest-"));
});
afterEach(() => rm(root, { recursive: true }));

async function put(path: string, minute = 0): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), "abc");
  const time = new Date(Date.UTC(2026, 10, 20, 10, minute));
  await utimes(join(root, path), time, time);
}
const pathsIn = async (folder = root): Promise<string[]> =>
  (await findNewestFiles(folder)).newest.map(({ path }) => path);

describe("the newest files of a folder", () => {
  it("come newest first, from all folders, with size and time", async () => {
    await put("a.txt", 1);
    await put("deep/er/b.txt", 3);
    await put("c.txt", 2);
    expect(await findNewestFiles(root)).toEqual({
      newest: [
        { path: "deep/er/b.txt", bytes: 3, modifiedAt: "2026-11-20T10:03:00.000Z" },
        { path: "c.txt", bytes: 3, modifiedAt: "2026-11-20T10:02:00.000Z" },
        { path: "a.txt", bytes: 3, modifiedAt: "2026-11-20T10:01:00.000Z" },
      ],
      others: 0,
      isPartial: false,
    });
  });

  it("are at most eight; the others are counted", async () => {
    for (let minute = 0; minute < 12; minute += 1) await put(`f${minute}.txt`, minute);
    expect(await findNewestFiles(root)).toMatchObject({ newest: { length: 8 }, others: 4, isPartial: false });
  });

  it("leave out hidden files, goald's own, those of sub-agents, and links", async () => {
    for (const path of [".env", ".git/config", "_goald/report.md", "agents/foo-ann/b.txt", "a.txt"]) await put(path);
    await symlink("/etc", join(root, "link"));
    await symlink("/etc/passwd", join(root, "passwd"));
    expect(await pathsIn()).toEqual(["a.txt"]);
  });

  it("are none in an empty folder, and in one that is missing", async () => {
    const none = { newest: [], others: 0, isPartial: false };
    expect(await findNewestFiles(root)).toEqual(none);
    expect(await findNewestFiles(join(root, "later"))).toEqual(none);
  });

  it("are looked for among 200 entries, however many there are", async () => {
    await Promise.all(Array.from({ length: 1000 }, (_, index) => put(`f${index}.txt`)));
    expect(await findNewestFiles(root)).toMatchObject({ newest: { length: 8 }, others: 192, isPartial: true });
  });
});
