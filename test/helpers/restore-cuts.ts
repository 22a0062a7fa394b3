/** restore-cuts.ts -- cuts the power at each change that a restoration makes, and looks whether nothing is lost. */
import { describe, expect, it } from "@jest/globals";
import { PowerCut, type When } from "./power-cut.ts";
import { RestoredAgent } from "./restored-agent.ts";

const CLONE = { "README.md": "# Plain\n", "src/main.py": "print(1)\n" };

async function makeAgent(): Promise<RestoredAgent> {
  const agent = await RestoredAgent.make();
  await agent.clone("first", CLONE);
  await agent.write("notes/a.md", "one");
  await agent.restore(1);
  await agent.clone("second", CLONE);
  await agent.clone("second/inner", CLONE);
  await agent.write("second/inner/c.md", "c");
  await agent.write("second/README.md", "# Mine\n");
  await agent.write("first/README.md", "# Mine\n");
  await agent.write("gone/b.md", "b");
  await agent.restore(0);
  await agent.undo();
  agent.put("gone/b.md", "edited by a person");
  return agent;
}

/** Cuts the power at each change of the call, and returns the number of cuts. */
async function cutEverywhere(
  call: (agent: RestoredAgent) => Promise<unknown>,
  when: When,
  check: (agent: RestoredAgent, before: object) => Promise<void>,
): Promise<number> {
  for (let at = 1; ; at++) {
    await using agent = await makeAgent();
    const before = agent.look();
    agent.cut = { at, when };
    const thrown = await call(agent).catch((error: unknown) => error);
    agent.cut = undefined;
    if (!(thrown instanceof PowerCut)) return at - 1;
    await check(agent, before);
  }
}

const EARLIER = { ...Object.fromEntries(Object.entries(CLONE).map(([name, text]) => [`first/${name}`, text])) };

export const cutRestorations = (when: When): void =>
  describe(`a restoration whose power is cut ${when} any of its changes`, () => {
    it("is completed by the same call, and then taken back as one", async () => {
      const cuts = await cutEverywhere(
        (agent) => agent.restore(1),
        when,
        async (agent, before) => {
          await agent.restore(1);
          expect(agent.look()).toEqual(EARLIER);
          await agent.undo();
          expect(agent.look()).toEqual(before);
        },
      );
      expect(cuts).toBeGreaterThan(5);
    });

    it("is taken back at once, without the loss of an edit", async () => {
      await cutEverywhere(
        (agent) => agent.restore(1),
        when,
        async (agent, before) => {
          // Without its commit there is nothing to take back but the restorations before it.
          if ((await restorationsOf(agent)) < 4) return;
          await agent.undo();
          expect(agent.look()).toEqual(before);
        },
      );
    });

    it("is completed by the same call when it takes another one back, and leads to the other state by one more", async () => {
      const cuts = await cutEverywhere(
        async (agent) => {
          const { cut } = agent;
          agent.cut = undefined;
          await agent.restore(1);
          agent.cut = cut;
          return agent.undo();
        },
        when,
        async (agent, before) => {
          // After its last change the call was complete, and the next one would restore again.
          const isComplete = (await restorationsOf(agent)) === 5 && (await agent.parts().aside.readUndo()) === null;
          if (!isComplete) await agent.undo();
          expect(agent.look()).toEqual(before);
          await agent.undo();
          expect(agent.look()).toEqual(EARLIER);
        },
      );
      expect(cuts).toBeGreaterThan(5);
    });
  });

export const restorationsOf = async ({ store, row }: RestoredAgent): Promise<number> =>
  (await store.read(row.id, 0, 100)).filter(({ type }) => type === "files-restored").length;
