import { describe, expect, it } from "@jest/globals";
import { REPORT_FILE, writeReport } from "#views/report-facts.ts";
import { done, makeLoop, reply } from "../helpers/loop.ts";
import { MemoryWorkspace } from "../helpers/memory-workspace.ts";

async function finishedLoop() {
  const loop = await makeLoop({ script: [reply("write_to_file", { file: "a.md", text: "abc" }), done("See a.md.")] });
  await loop.run();
  const parts = { store: loop.store, workspaceFolder: "/nowhere/workspace" };
  const changes: string[] = [];
  const open = (own: boolean) =>
    new MemoryWorkspace({ files: loop.files, own, onChange: ({ path }) => changes.push(path) });
  const write = (redact?: (text: string) => string) =>
    writeReport(loop.row, { ...parts, workspace: open(true), ...(redact ? { redact } : {}) });
  return { loop, parts, changes, open, write };
}

describe("the report in an agent's folder", () => {
  it("is written once, and again only after a change", async () => {
    const { loop, changes, write } = await finishedLoop();
    expect(await write()).toBe(true);
    expect(loop.text(REPORT_FILE)).toContain("`a.md`");
    expect(await write()).toBe(false);
    expect(changes).toEqual([REPORT_FILE]);
    loop.files.set(REPORT_FILE, Buffer.from("somebody else's"));
    expect(await write()).toBe(true);
    expect(loop.text(REPORT_FILE)).toMatch(/^# Foo: report\n/);
  });

  it("is not a file of the agent, so its history does not contain it", async () => {
    const { loop, write } = await finishedLoop();
    await write();
    expect((await loop.store.files(loop.row.id)).map(({ path }) => path)).toEqual(["a.md"]);
  });

  it("contains no secret", async () => {
    const { loop, write } = await finishedLoop();
    await write((text) => text.replaceAll("abc", "[redacted]").replaceAll("See", "[redacted]"));
    expect(loop.text(REPORT_FILE)).toContain("> [redacted] a.md.");
  });

  it("is rejected when it is written through the workspace of commands", async () => {
    const { loop, parts, open } = await finishedLoop();
    await expect(writeReport(loop.row, { ...parts, workspace: open(false) })).rejects.toMatchObject({
      code: "GOALD_PATH_REFUSED",
    });
  });
});
