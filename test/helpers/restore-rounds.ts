/** restore-rounds.ts -- random steps of an agent, edits of a person and restorations, against the folder as it was after each step. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import fc from "fast-check";
import { RestoredAgent } from "./restored-agent.ts";

/** No new file in a clone within a clone: the second undo leaves it behind (docs/recovery.md, Files of an agent). */
const FILES = ["a.md", "notes/b.md", "one/README.md", "one/new.md"] as const;
const CLONES = ["one", "one/two", "notes/three"] as const;

type Act =
  | { readonly kind: "write" | "edit"; readonly path: (typeof FILES)[number]; readonly text: string }
  | { readonly kind: "delete"; readonly path: (typeof FILES)[number] }
  | { readonly kind: "move"; readonly path: (typeof FILES)[number]; readonly to: (typeof FILES)[number] }
  | { readonly kind: "clone"; readonly path: (typeof CLONES)[number] }
  | { readonly kind: "restore"; readonly back: number };

const file = fc.constantFrom(...FILES);
const text = fc.constantFrom("x", "yy", "zzz");
export const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("write" as const), path: file, text }) },
    fc.record({ kind: fc.constant("edit" as const), path: file, text }),
    fc.record({ kind: fc.constant("delete" as const), path: file }),
    fc.record({ kind: fc.constant("move" as const), path: file, to: file }),
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("clone" as const), path: fc.constantFrom(...CLONES) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("restore" as const), back: fc.nat(6) }) },
  ),
  { maxLength: 14 },
);

/** Rejects when a restoration leads to another state than that after its step, or when undo and redo do not. */
export async function liveThrough(taken: readonly Act[]): Promise<void> {
  await using agent = await RestoredAgent.make();
  const states = [filesOf(agent)];
  for (const act of taken) {
    if (act.kind === "restore") {
      await restoreAndBack(agent, states, act.back);
      continue;
    }
    const isThere = existsSync(join(agent.folder, act.path));
    if (act.kind === "edit") {
      // The content of a file that a person changes is not in the history before the agent's next change of it, so
      // that change comes at once.
      if (isThere) agent.put(act.path, `${act.text} by a person`);
      await agent.write(act.path, act.text);
    } else if (act.kind === "write") await agent.write(act.path, act.text);
    else if (act.kind === "delete") await agent.delete(act.path);
    else if (act.kind === "move") await agent.move(act.path, act.to);
    else if (isThere) continue;
    else await agent.clone(act.path, { "README.md": `# ${agent.steps}\n`, "deep/d.txt": "d" });
    states.push(filesOf(agent));
  }
  await restoreAndBack(agent, states, taken.length);
}

/** Without empty folders: they come and go with the files in them. */
const filesOf = (agent: RestoredAgent): object =>
  Object.fromEntries(Object.entries(agent.look()).filter(([, content]) => content !== "/"));

async function restoreAndBack(agent: RestoredAgent, states: readonly object[], back: number): Promise<void> {
  const step = Math.max(0, states.length - 1 - back);
  const before = filesOf(agent);
  const planned = await agent.plan({ step, paths: [] });
  const done = await agent.restore(step);
  expect(filesOf(agent)).toEqual(states[step]);
  expect(done.folders).toEqual(planned.folders.map(({ path, action, reason }) => ({ path, action, reason })));
  expect(done.files.map(({ path, action }) => [path, action])).toEqual(
    planned.files.map(({ path, action }) => [path, action]),
  );
  const isChanged = [...done.files, ...done.folders].some(({ action }) => action !== "keep");
  if (!isChanged) return;
  await agent.undo();
  expect(filesOf(agent)).toEqual(before);
  await agent.undo();
  expect(filesOf(agent)).toEqual(states[step]);
}
