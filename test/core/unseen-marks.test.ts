import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { validateAgent } from "#config/agent-spec.ts";
import { findUnseenMark } from "#core/unseen-marks.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";

describe("a mark in a name that nobody sees", () => {
  it.each([
    ["a\u200bb", "U+200B"],
    ["a\u00adb", "U+00AD"],
    ["ab\ufeff!", "U+FEFF"],
    ["a\u2060b", "U+2060"],
    ["a\u202eb", "U+202E"],
    ["a\u200eb", "U+200E"],
    ["a\u061cb", "U+061C"],
    ["a\u034fb", "U+034F"],
    ["a\u3164b", "U+3164"],
    ["a\u{e0041}b", "U+E0041"],
    ["a\u{e0100}b", "U+E0100"],
    ["a\ufff9b", "U+FFF9"],
    ["a\ufe0fb", "U+FE0F"],
    ["a\u200db", "U+200D"],
    ["\u0646\u200c", "U+200C"],
    ["1\ufe0f", "U+FE0F"],
    ["\u{1f3f4}\u{e0067}x", "U+E0067"],
  ])("is found in %j", (name, mark) => {
    expect(findUnseenMark(name)).toBe(mark);
  });

  it.each([
    "Foo",
    "Zoë, 東京, Привет",
    "نامه\u200cای",
    "क\u094d\u200dष",
    "\u{1f469}\u{1f3fd}\u200d\u{1f4bb} and \u2764\ufe0f\u200d\u{1f525}",
    "1\ufe0f\u20e3",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
  ])("is not seen in %j", (name) => {
    expect(findUnseenMark(name)).toBeUndefined();
  });

  it("is refused in the name of an agent, with its code point", () => {
    expect(() => validateAgent({ name: "a\u200bb", role: "r", goals: ["g"] })).toThrow(
      "The name holds a mark that nobody sees (U+200B). Write it without the mark.",
    );
  });

  it("is refused in the path of a new file; an existing file can be read and deleted", async () => {
    const folder = await mkdtemp(join(tmpdir(), "goald-unseen-"));
    try {
      const workspace = openLocalWorkspace(folder);
      const written = workspace.write("notes\u200b/plan.md", "x");
      await expect(written).rejects.toMatchObject({
        code: "GOALD_PATH_REFUSED",
        message: 'The path "notes\\u{200b}/plan.md" holds a mark that nobody sees (U+200B).',
      });
      await expect(workspace.write("نامه\u200cای.md", "x")).resolves.not.toThrow();
      await writeFile(join(folder, "a\u00ad.md"), "old");
      expect(Buffer.from(await workspace.read("a\u00ad.md")).toString()).toBe("old");
      await workspace.remove("a\u00ad.md");
      await expect(readFile(join(folder, "a\u00ad.md"))).rejects.toMatchObject({ code: "ENOENT" });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
