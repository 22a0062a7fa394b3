/** restore-rounds.ts -- random steps of an agent, edits of a person and restorations, against the folder as it was after each step. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import fc from "fast-check";
import { isPutBack } from "#views/file-versions.ts";
import { PowerCut } from "./power-cut.ts";
import { RestoredAgent } from "./restored-agent.ts";

const CLONE = "one";
const FILES = ["a.md", "notes/b.md", "notes/deep/c.md", "one/README.md", "one/new.md"] as const;

type Path = (typeof FILES)[number];
type Act =
  | { readonly kind: "write" | "edit"; readonly path: Path; readonly text: string }
  | { readonly kind: "delete"; readonly path: Path }
  | { readonly kind: "move"; readonly path: Path; readonly to: Path }
  | { readonly kind: "clone" | "discard" }
  | ({ readonly kind: "restore" } & Restoration);

interface Restoration {
  /** Number of steps before the newest one. */
  readonly back: number;
  /** Empty means everything. */
  readonly paths: readonly string[];
  /** A person edits this file first, when everything is restored. */
  readonly edit: "a.md" | "notes/b.md" | undefined;
  /** Before or after which change the power is cut, at the first two attempts. */
  readonly cut: RestoredAgent["cut"];
}

const file = fc.constantFrom(...FILES);
const text = fc.constantFrom("x", "yy", "zzz");
/** Most restorations are of everything. */
const paths = fc.oneof(
  { weight: 3, arbitrary: fc.constant([]) },
  fc.uniqueArray(fc.constantFrom("a.md", "notes/b.md", "notes"), { maxLength: 2 }),
);
const edit = fc.option(fc.constantFrom("a.md" as const, "notes/b.md" as const), { nil: undefined });
const when = fc.constantFrom("before" as const, "after" as const);
const cut = fc.option(fc.record({ at: fc.integer({ min: 1, max: 6 }), when }), { nil: undefined });
const restoration = fc.record({ kind: fc.constant("restore" as const), back: fc.nat(6), paths, edit, cut });
export const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("write" as const), path: file, text }) },
    fc.record({ kind: fc.constant("edit" as const), path: file, text }),
    fc.record({ kind: fc.constant("delete" as const), path: file }),
    fc.record({ kind: fc.constant("move" as const), path: file, to: file }),
    fc.record({ kind: fc.constantFrom("clone" as const, "discard" as const) }),
    { weight: 3, arbitrary: restoration },
  ),
  { maxLength: 14 },
);

type Files = Readonly<Record<string, string>>;

/** Rejects when a restoration leads to another state than that after its step, changes a clone, or loses an edit. */
export async function liveThrough(taken: readonly Act[]): Promise<void> {
  await using agent = await RestoredAgent.make();
  const states = [agent.look()];
  for (const act of taken) {
    if (act.kind === "restore") await restoreAndBack(agent, states, act);
    else if (await takeStep(agent, states, act)) states.push(agent.look());
  }
  await restoreAndBack(agent, states, { back: taken.length, paths: [], edit: undefined, cut: undefined });
}

/** False when there was nothing to do. */
async function takeStep(
  agent: RestoredAgent,
  states: Files[],
  act: Exclude<Act, { readonly kind: "restore" }>,
): Promise<boolean> {
  const isThere = existsSync(join(agent.folder, "path" in act ? act.path : CLONE));
  if (act.kind === "write") await agent.write(act.path, act.text);
  else if (act.kind === "delete") await agent.delete(act.path);
  else if (act.kind === "move") await agent.move(act.path, act.to);
  else if (act.kind === "discard") await agent.delete(CLONE, true);
  else if (act.kind === "edit") {
    // Only the agent's changes put the content of a file into the history, so it changes the file before and after the person.
    if (isThere) {
      await agent.write(act.path, `${act.text} before`);
      states.push(agent.look());
      agent.put(act.path, `${act.text} by a person`);
    }
    await agent.write(act.path, act.text);
  } else if (isThere) return false;
  else await agent.clone(CLONE, { "README.md": `# ${agent.steps}\n`, "deep/d.txt": "d" });
  return true;
}

async function restoreAndBack(agent: RestoredAgent, states: Files[], asked: Restoration): Promise<void> {
  const { back, paths, cut } = asked;
  const last = states.length - 1;
  const step = Math.max(0, last - back);
  const versions = await agent.store.files(agent.row.id);
  if (!paths.every((chosen) => versions.some(({ path }) => isChosen(path, [chosen])))) return;
  const isFirst = !versions.some((version) => version.step === last && isPutBack(version));
  const edit = paths.length === 0 && agent.look()[asked.edit ?? ""] !== undefined ? asked.edit : undefined;
  if (edit) agent.put(edit, `by hand ${versions.length}`);
  const before = agent.look();
  const planned = await agent.plan({ step, paths });
  await restoreDespite(agent, cut, step, paths);
  const after = agent.look();
  // The edit belongs to the state after the last step, unless a restoration to that step dropped it or came before.
  if (edit && isFirst && step < last) states[last] = { ...states[last], [edit]: before[edit] ?? "" };
  if (edit)
    expect(await agent.history()).toContainEqual(expect.stringMatching(`^found ${edit} ${before[edit]?.length}$`));
  const wasPlaced = versions.some(({ operation }) => operation === "place");
  const isJudged = (path: string): boolean => !isChosen(path, [CLONE]) || !wasPlaced;
  expect(only(after, isJudged)).toEqual(only(mixed(before, states[step] ?? {}, paths), isJudged));
  if (planned.clones.length > 0) expect(only(after, isInClone)).toEqual(only(before, isInClone));
  await restoreDespite(agent, cut, last, []);
  expect(only(agent.look(), isJudged)).toEqual(only(states[last] ?? {}, isJudged));
}

/** Makes the call up to three times, the last without a cut, until it has ended. */
async function restoreDespite(
  agent: RestoredAgent,
  cut: RestoredAgent["cut"],
  step: number,
  paths: readonly string[],
): Promise<void> {
  for (const each of [cut, cut, undefined]) {
    agent.cut = each;
    try {
      await agent.restore(step, paths);
      return;
    } catch (error) {
      if (!(error instanceof PowerCut)) throw error;
    } finally {
      agent.cut = undefined;
    }
  }
}

const isChosen = (path: string, chosen: readonly string[]): boolean =>
  chosen.length === 0 || chosen.some((name) => path === name || path.startsWith(`${name}/`));

const isInClone = (path: string): boolean => isChosen(path, [CLONE]);

const only = (files: Files, isWanted: (path: string) => boolean): Files =>
  Object.fromEntries(Object.entries(files).filter(([path]) => isWanted(path)));

/** The files at the chosen paths, or all, as they were earlier, and the others as they are now. */
const mixed = (now: Files, earlier: Files, paths: readonly string[]): Files => ({
  ...only(now, (path) => !isChosen(path, paths)),
  ...only(earlier, (path) => isChosen(path, paths)),
});
