import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "@jest/globals";

const child = join(import.meta.dirname, "full-disk.child.ts");
const run = promisify(execFile);

async function withFileLimit(blocks: string, anchor: string): Promise<Record<string, unknown>> {
  const folder = await mkdtemp(join(tmpdir(), "goald-full-"));
  try {
    const script = `ulimit -f ${blocks}; exec "$0" "$@"`;
    const { stdout } = await run("sh", ["-c", script, process.execPath, child, folder, anchor]);
    return JSON.parse(stdout) as Record<string, unknown>;
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe("a full disk", () => {
  it.each(["descriptor", "real-path"])("fails each change and leaves all files unchanged (%s)", async (anchor) => {
    expect(await withFileLimit("64", anchor)).toEqual({
      codes: {
        "write over": "GOALD_STORE_FULL",
        "write new": "GOALD_STORE_FULL",
        append: "GOALD_STORE_FULL",
        "append new": "GOALD_STORE_FULL",
      },
      content: "as it was",
      names: ["old.txt"],
      changes: ["write old.txt"],
    });
  });

  it("has room for all four operations without the limit (control)", async () => {
    expect(await withFileLimit("unlimited", "descriptor")).toMatchObject({
      codes: { "write over": "ok", "write new": "ok", append: "ok", "append new": "ok" },
    });
  });
});
