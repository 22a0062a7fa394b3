import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { PowerCut } from "../helpers/power-cut.ts";
import { RestoredAgent } from "../helpers/restored-agent.ts";

const CLONE = { "README.md": "# Plain\n" };

/** An agent with written, appended, deleted and cloned files; a person has edited two and removed one. */
async function makeAgent(): Promise<RestoredAgent> {
  const agent = await RestoredAgent.make();
  await agent.write("a.md", "one");
  await agent.write("gone/b.md", "b");
  await agent.write("removed.md", "r");
  await agent.delete("gone/b.md");
  await agent.clone("plain", CLONE);
  await agent.write("plain/README.md", "# Mine\n");
  await agent.step((workspace) => workspace.append("a.md", " more"));
  await agent.write("late.md", "late");
  agent.put("late.md", "edited by a person");
  agent.put("plain/own.md", "a person's");
  rmSync(join(agent.folder, "removed.md"));
  return agent;
}

const IN_CLONE = { "plain/README.md": "# Mine\n", "plain/own.md": "a person's" };
const AFTER_3 = { "a.md": "one", "gone/b.md": "b", "removed.md": "r", ...IN_CLONE };

describe.each(["before", "after"] as const)("a restoration whose power is cut %s any of its writes", (when) => {
  it("is completed by the same call, which records nothing twice, and the last step brings the edits back", async () => {
    let cuts = 0;
    for (let at = 1; ; at++) {
      await using agent = await makeAgent();
      agent.cut = { at, when };
      const thrown = await agent.restore(3).catch((error: unknown) => error);
      agent.cut = undefined;
      if (!(thrown instanceof PowerCut)) break;
      cuts++;
      await agent.restore(3);
      expect(agent.look()).toEqual(AFTER_3);
      expect(await agent.restorations()).toBe(1);
      expect((await agent.history()).filter((line) => line.startsWith("found"))).toEqual([
        "found plain/README.md 8",
        "found late.md 18",
      ]);
      await agent.restore(8);
      expect(agent.look()).toEqual({
        "a.md": "one more",
        "removed.md": "r",
        "late.md": "edited by a person",
        ...IN_CLONE,
      });
    }
    // The commit, the removal of one file and the writes of three.
    expect(cuts).toBe(5);
  });
});

describe("a call after a restoration that a crash interrupted", () => {
  let agent: RestoredAgent;
  beforeEach(async () => {
    agent = await RestoredAgent.make();
    await agent.write("a.md", "one");
    await agent.write("a.md", "two");
    await agent.write("a.md", "three");
  });
  afterEach(() => agent[Symbol.asyncDispose]());

  /** Cuts the power after the commit, before the file is written. */
  async function cutRestore(step: number): Promise<void> {
    agent.cut = { at: 2, when: "before" };
    await expect(agent.restore(step)).rejects.toBeInstanceOf(PowerCut);
    agent.cut = undefined;
    expect(agent.look()).toEqual({ "a.md": "three" });
  }

  it("keeps what a person edited in between as a version", async () => {
    await cutRestore(1);
    agent.put("a.md", "a person's");
    await agent.restore(1);
    expect(agent.look()).toEqual({ "a.md": "one" });
    expect((await agent.history()).slice(3)).toEqual(["write a.md 3", "found a.md 10", "write a.md 3"]);
  });

  it("restores another step from what is there, and no version is taken for an edit", async () => {
    await cutRestore(1);
    await agent.restore(2);
    expect(agent.look()).toEqual({ "a.md": "two" });
    expect((await agent.history()).slice(3)).toEqual(["write a.md 3", "write a.md 3"]);
    await agent.restore(3);
    expect(agent.look()).toEqual({ "a.md": "three" });
  });

  it("plans from the agent's later changes when there are some", async () => {
    await cutRestore(1);
    await agent.write("a.md", "four");
    await agent.restore(1);
    expect(agent.look()).toEqual({ "a.md": "one" });
    await agent.restore(4);
    expect(agent.look()).toEqual({ "a.md": "four" });
  });
});
