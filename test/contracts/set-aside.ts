/** SetAside contract: whole folders leave a workspace and come back. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { SetAside } from "#core/ports/set-aside.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { namesIn } from "./workspace-builders.ts";

export interface SetAsideUnderTest {
  readonly workspace: Workspace;
  readonly aside: SetAside;
  close(): Promise<void>;
}

const NOON = new Date("2026-11-20T12:00:00.000Z");
const LATER = new Date("2026-11-20T13:00:00.000Z");

export function setAsideContract(name: string, make: () => Promise<SetAsideUnderTest>): void {
  describe(`${name} keeps the contract of folders that are set aside`, () => {
    let under: SetAsideUnderTest;
    beforeEach(async () => {
      under = await make();
      await under.workspace.write("work/plain/a.txt", "a");
      await under.workspace.write("work/plain/inner/b.txt", "bb");
    });
    afterEach(() => under.close());

    it("moves a folder as a whole, and back, with the folders above it", async () => {
      const { workspace, aside } = under;
      const before = await namesIn(workspace);
      expect([await aside.canMove(), await aside.kindOf("work/plain")]).toEqual([true, "folder"]);
      await aside.take("work/plain", "ab", NOON);
      await aside.removeEmpty("work");
      expect([await namesIn(workspace), await aside.kindOf("work"), (await aside.find("ab"))?.state]).toEqual([
        [],
        "none",
        "kept",
      ]);
      await aside.putBack("ab", "work/plain");
      expect([await namesIn(workspace), await aside.find("ab")]).toEqual([before, undefined]);
    });

    it("takes no file and nothing that is missing, and replaces nothing", async () => {
      const { workspace, aside } = under;
      expect(await aside.kindOf("work/plain/a.txt")).toBe("other");
      for (const path of ["work/plain/a.txt", "missing"])
        await expect(aside.take(path, "ab", NOON)).rejects.toMatchObject({ code: "GOALD_FILE" });
      await aside.take("work/plain", "ab", NOON);
      await workspace.write("work/plain/c.txt", "c");
      for (const key of ["ab", "unknown"])
        await expect(aside.putBack(key, "work/plain")).rejects.toMatchObject({ code: "GOALD_FILE" });
      expect([await namesIn(workspace), (await aside.find("ab"))?.state]).toEqual([["work/plain/c.txt"], "kept"]);
    });

    it("discards the folders that were taken longest ago, and none of the newest, and remembers which", async () => {
      const { workspace, aside } = under;
      await aside.take("work/plain", "ab", NOON);
      await workspace.write("work/next/c.txt", "c");
      await aside.take("work/next", "cd", LATER);
      expect(await aside.trim(1_000, LATER)).toEqual([]);
      expect(await aside.trim(0, LATER)).toEqual(["ab"]);
      expect([await aside.find("ab"), (await aside.find("cd"))?.state]).toEqual([{ state: "discarded" }, "kept"]);
    });

    it("notes a restoration that has not ended", async () => {
      const { aside } = under;
      const restoration = { callId: "restore/x", step: 3, paths: ["a.md"] };
      expect(await aside.readRestoration()).toBeNull();
      await aside.noteRestoration(restoration);
      expect(await aside.readRestoration()).toEqual(restoration);
      await aside.noteRestoration(null);
      expect(await aside.readRestoration()).toBeNull();
    });
  });
}
