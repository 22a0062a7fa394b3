import { mkdtemp, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { openCellHost } from "#loop/cell-host.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";

describe("the list of files that code gets", () => {
  it("has another stamp after a write of the same size within the same millisecond", async () => {
    const folder = await mkdtemp(join(tmpdir(), "goald-cell-files-"));
    try {
      const workspace = openLocalWorkspace(folder);
      const commands = { functionsFor: () => ({ all: [], callOf: () => undefined }) };
      const host = openCellHost({ context: { workspace }, commands } as unknown as Parameters<typeof openCellHost>[0]);
      const time = new Date("2026-01-01T00:00:00.000Z");
      const write = async (text: string): Promise<string | undefined> => {
        await workspace.write("a.txt", text);
        await utimes(join(folder, "a.txt"), time, time);
        return (await host.listFiles()).files[0]?.stamp;
      };
      const first = await write("one");
      // A second write could get the inode that the first one has freed.
      await workspace.write("b.txt", "");
      expect(await write("two")).not.toBe(first);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
