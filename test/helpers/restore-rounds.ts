/** restore-rounds.ts -- random steps of an agent, edits of a person and restorations, against the folder as it was after each step. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import fc from "fast-check";
import type { Restored } from "#host/restore-files.ts";
import { PowerCut } from "./power-cut.ts";
import { restorationsOf } from "./restore-cuts.ts";
import { RestoredAgent } from "./restored-agent.ts";

const CLONES = ["one", "one/two", "notes/three"] as const;
const FILES = ["a.md", "notes/b.md", "one/README.md", "one/new.md", "one/two/README.md", "one/two/c.md"] as const;

type Path = (typeof FILES)[number];
type Act =
  | { readonly kind: "write" | "edit"; readonly path: Path; readonly text: string }
  | { readonly kind: "delete"; readonly path: Path }
  | { readonly kind: "move"; readonly path: Path; readonly to: Path }
  | { readonly kind: "clone" | "discard"; readonly path: (typeof CLONES)[number] }
  | ({ readonly kind: "restore" } & Restoration);

interface Restoration {
  /** Number of steps before the newest one. */
  readonly back: number;
  /** Empty means everything. */
  readonly paths: readonly string[];
  /** Before or after which change the power is cut, at the first attempt of each call. */
  readonly cut: RestoredAgent["cut"];
}

const file = fc.constantFrom(...FILES);
const clone = fc.constantFrom(...CLONES);
const text = fc.constantFrom("x", "yy", "zzz");
/** Most restorations are of everything. None is of a part of a clone, which may be away (docs/recovery.md, Files of an agent). */
const paths = fc.oneof(
  { weight: 3, arbitrary: fc.constant([]) },
  fc.uniqueArray(fc.constantFrom("a.md", "notes/b.md", "one", "notes/three"), { maxLength: 2 }),
);
const when = fc.constantFrom("before" as const, "after" as const);
const cut = fc.option(fc.record({ at: fc.integer({ min: 1, max: 12 }), when }), { nil: undefined });
export const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("write" as const), path: file, text }) },
    fc.record({ kind: fc.constant("edit" as const), path: file, text }),
    fc.record({ kind: fc.constant("delete" as const), path: file }),
    fc.record({ kind: fc.constant("move" as const), path: file, to: file }),
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("clone" as const), path: clone }) },
    fc.record({ kind: fc.constant("discard" as const), path: clone }),
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("restore" as const), back: fc.nat(6), paths, cut }) },
  ),
  { maxLength: 14 },
);

type Files = Readonly<Record<string, string>>;

/** Rejects when a restoration leads to another state than that after its step, or when undo and redo do not. */
export async function liveThrough(taken: readonly Act[]): Promise<void> {
  await using agent = await RestoredAgent.make();
  const states = [filesOf(agent)];
  for (const act of taken) {
    if (act.kind === "restore") {
      await restoreAndBack(agent, states, act);
      continue;
    }
    const isThere = existsSync(join(agent.folder, act.path));
    if (act.kind === "edit") {
      // Only the agent's changes put the content of a file into the history, so it changes the file before and after
      // the person.
      if (isThere) {
        await agent.write(act.path, `${act.text} before`);
        states.push(filesOf(agent));
        agent.put(act.path, `${act.text} by a person`);
      }
      await agent.write(act.path, act.text);
    } else if (act.kind === "write") await agent.write(act.path, act.text);
    else if (act.kind === "delete") await agent.delete(act.path);
    else if (act.kind === "discard") await agent.delete(act.path, true);
    else if (act.kind === "move") await agent.move(act.path, act.to);
    else if (isThere) continue;
    else await agent.clone(act.path, { "README.md": `# ${agent.steps}\n`, "deep/d.txt": "d" });
    states.push(filesOf(agent));
  }
  await restoreAndBack(agent, states, { back: taken.length, paths: [], cut: undefined });
}

/** Without empty folders: they come and go with the files in them. */
const filesOf = (agent: RestoredAgent): Files =>
  Object.fromEntries(Object.entries(agent.look()).filter(([, content]) => content !== "/"));

async function restoreAndBack(
  agent: RestoredAgent,
  states: readonly Files[],
  { back, paths, cut }: Restoration,
): Promise<void> {
  const step = Math.max(0, states.length - 1 - back);
  const before = filesOf(agent);
  const known = new Set((await agent.store.files(agent.row.id)).map(({ path }) => path));
  if (!paths.every((path) => known.has(path))) return;
  const planned = await agent.plan({ step, paths });
  const done = await despiteCut(agent, cut, step, paths);
  const after = filesOf(agent);
  const isLost = planned.folders.some(({ action }) => action === "cannot");
  if (!isLost) expect(after).toEqual(mixed(before, states[step] ?? {}, paths));
  if (done) expect(actionsOf(done)).toEqual(actionsOf(planned));
  const isChanged = [...planned.files, ...planned.folders].some(({ action }) => !["keep", "cannot"].includes(action));
  if (!isChanged) return;
  await despiteCut(agent, cut, null);
  expect(filesOf(agent)).toEqual(before);
  await despiteCut(agent, cut, null);
  expect(filesOf(agent)).toEqual(after);
}

type Actions = readonly { readonly path: string; readonly action: string; readonly reason?: string }[];

const actionsOf = ({ files, folders }: { readonly files: Actions; readonly folders: Actions }): readonly unknown[] => [
  files.map(({ path, action }) => [path, action]),
  folders.map(({ path, action, reason }) => [path, action, reason]),
];

/** Makes the call again when its power was cut before its last change. Undefined after a cut. */
async function despiteCut(
  agent: RestoredAgent,
  cut: RestoredAgent["cut"],
  step: number | null,
  paths: readonly string[] = [],
): Promise<Restored | undefined> {
  const earlier = await restorationsOf(agent);
  agent.cut = cut;
  try {
    return await agent.restore(step, { paths });
  } catch (error) {
    if (!(error instanceof PowerCut)) throw error;
  } finally {
    agent.cut = undefined;
  }
  // An undo that is complete would be taken back by one more.
  const isComplete = (await restorationsOf(agent)) > earlier && (await agent.parts().aside.readUndo()) === null;
  if (step !== null || !isComplete) await agent.restore(step, { paths });
  return undefined;
}

/** The files at the chosen paths, or all, as they were earlier, and the others as they are now. */
function mixed(now: Files, earlier: Files, paths: readonly string[]): Files {
  const isChosen = (path: string) =>
    paths.length === 0 || paths.some((chosen) => path === chosen || path.startsWith(`${chosen}/`));
  const pick = (files: Files, isWanted: boolean) =>
    Object.entries(files).filter(([path]) => isChosen(path) === isWanted);
  return Object.fromEntries([...pick(now, false), ...pick(earlier, true)]);
}
