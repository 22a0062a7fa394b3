import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { PowerCut } from "../helpers/power-cut.ts";
import { cutRestorations, restorationsOf } from "../helpers/restore-cuts.ts";
import { RestoredAgent } from "../helpers/restored-agent.ts";

cutRestorations("before");

let agent: RestoredAgent;
beforeEach(async () => {
  agent = await RestoredAgent.make();
});
afterEach(() => agent[Symbol.asyncDispose]());

/** Cuts the power before the change of this number; the first is the note, and the second the commit. */
async function cutRestore(step: number | null, at: number): Promise<void> {
  agent.cut = { at, when: "before" };
  await expect(agent.restore(step)).rejects.toBeInstanceOf(PowerCut);
  agent.cut = undefined;
}

describe("a call after a restoration that a crash interrupted", () => {
  const README = { "plain/README.md": "# Plain\n" };

  /** Interrupts a restoration in which a clone came back with an earlier version of the agent's file. */
  async function interruptReturn(): Promise<void> {
    await agent.clone("plain", { "README.md": "# Plain\n" });
    await agent.write("plain/notes.md", "earlier");
    await agent.restore(0);
    await agent.write("plain/notes.md", "later");
    await cutRestore(1, 8);
    expect(agent.look()).toEqual({ ...README, "plain/notes.md": "earlier" });
  }

  it("does not take an earlier version that came back with a clone for a person's edit", async () => {
    await interruptReturn();
    await agent.restore(1);
    expect([agent.look(), await restorationsOf(agent)]).toEqual([README, 2]);
    await agent.undo();
    expect(agent.look()).toEqual({ "plain/notes.md": "later" });
  });

  it("restores once more when nothing notes the restoration, which an undo then takes back alone (control)", async () => {
    await interruptReturn();
    await agent.parts().aside.noteRestoration(null);
    await agent.restore(1);
    expect([agent.look(), await restorationsOf(agent)]).toEqual([README, 3]);
    await agent.undo();
    expect(agent.look()).toEqual({ ...README, "plain/notes.md": "earlier" });
  });

  it("keeps what a person edited in between in the history, as a part of that restoration", async () => {
    await agent.write("a.md", "one");
    await agent.write("a.md", "two");
    await cutRestore(1, 3);
    agent.put("a.md", "a person's");
    await agent.restore(1);
    expect(agent.look()).toEqual({ "a.md": "one" });
    const versions = await agent.store.files(agent.row.id);
    expect(versions.map(({ operation, bytes }) => [operation, bytes])).toContainEqual(["found", 10]);
    expect(new Set(versions.slice(2).map(({ callId }) => callId)).size).toBe(1);
    await agent.undo();
    expect(agent.look()).toEqual({ "a.md": "two" });
  });

  it("restores a file that a person had deleted", async () => {
    await agent.write("a.md", "a");
    await agent.write("b.md", "one");
    await agent.write("b.md", "two");
    rmSync(join(agent.folder, "a.md"));
    await cutRestore(2, 3);
    expect(agent.look()).toEqual({ "b.md": "two" });
    await agent.restore(2);
    expect(agent.look()).toEqual({ "a.md": "a", "b.md": "one" });
  });

  it("completes it before it restores another step, which an undo takes back alone", async () => {
    await agent.write("a.md", "one");
    await agent.write("a.md", "two");
    await agent.write("a.md", "three");
    await cutRestore(2, 3);
    await agent.restore(1);
    expect(agent.look()).toEqual({ "a.md": "one" });
    await agent.undo();
    expect(agent.look()).toEqual({ "a.md": "two" });
  });

  it("completes an undo before it restores a step", async () => {
    await agent.write("a.md", "one");
    await agent.write("a.md", "two");
    await agent.restore(1);
    await cutRestore(null, 3);
    await agent.restore(0);
    expect(agent.look()).toEqual({});
    await agent.undo();
    expect(agent.look()).toEqual({ "a.md": "two" });
  });

  it("plans from the agent's later changes when there are some", async () => {
    await agent.write("a.md", "one");
    await agent.write("a.md", "two");
    await cutRestore(1, 3);
    await agent.write("a.md", "three");
    await agent.restore(1);
    expect(agent.look()).toEqual({ "a.md": "one" });
    await agent.undo();
    expect(agent.look()).toEqual({ "a.md": "three" });
  });

  it("has no conflicts in its plan with files that were not restored yet", async () => {
    await agent.write("a.md", "one");
    await agent.write("a.md", "two");
    await agent.write("b.md", "b");
    await cutRestore(0, 4);
    expect((await agent.plan({ step: null, paths: [] })).changedSince).toEqual([]);
    await agent.undo();
    expect(agent.look()).toEqual({ "a.md": "two", "b.md": "b" });
  });
});
