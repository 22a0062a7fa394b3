/** restored-agent.ts -- an agent with a store in memory and a real folder, whose steps a test takes one by one. */
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "@jest/globals";
import fc from "fast-check";
import type { Command } from "#core/command.ts";
import type { AgentRow, FileChange } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import type { OutsideSource } from "#core/provenance.ts";
import { STATE_VERSION } from "#core/state.ts";
import { type RestoreParts, restoreFiles } from "#host/restore-files.ts";
import { rememberStep } from "#memory/remember/remember.ts";
import { isPutBack } from "#views/file-versions.ts";
import { planRestore, type RestorePlan, type RestoreRequest } from "#views/restore-plan.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import deleteFile from "../../commands/delete_file.ts";
import moveFile from "../../commands/move_file.ts";
import writeToFile from "../../commands/write_to_file.ts";
import { call, contextOf } from "../commands/context.ts";
import { AT, asked, finished, NOTHING, SPEC, stamped } from "./events.ts";
import { type MemoryStore, openMemoryStore } from "./memory-store.ts";
import { PowerCut, type When } from "./power-cut.ts";

/** The files of a clone, by path. */
export type CloneFiles = Readonly<Record<string, string>>;

export class RestoredAgent implements AsyncDisposable {
  readonly store: MemoryStore;
  readonly row: AgentRow;
  readonly root: string;
  readonly folder: string;
  /** Number of its steps. */
  steps = 0;
  /** Before or after which of its changes a restoration loses its power; undefined for none. */
  cut: { readonly at: number; readonly when: When } | undefined;
  #seconds = 0;

  private constructor(store: MemoryStore, row: AgentRow, root: string) {
    [this.store, this.row, this.root] = [store, row, root];
    this.folder = join(root, "workspace/foo");
    mkdirSync(this.folder, { recursive: true });
  }

  static async make(): Promise<RestoredAgent> {
    const store = openMemoryStore();
    const row = await store.create(SPEC, "k", AT);
    return new RestoredAgent(store, row, await mkdtemp(join(tmpdir(), "goald-restored-")));
  }

  /** Makes one step of the agent, whose changes hold words of `outside`. Returns its number. */
  async step(act: (workspace: Workspace) => Promise<unknown>, outside?: readonly OutsideSource[]): Promise<number> {
    const { store, row } = this;
    const changes: FileChange[] = [];
    const step = ++this.steps;
    await act(
      openLocalWorkspace(this.folder, (change) => changes.push(change), {
        lastVersion: (path) => store.lastFileVersion(row.id, path),
        staging: join(this.root, ".goald/clones"),
      }),
    );
    const { head } = await store.load(row.id, STATE_VERSION);
    const lease = await store.claim(row.id);
    const of = { step, callId: `c${step}` };
    const files = changes.map((change) => ({ ...change, ...of, ...(outside ? { outside } : {}) }));
    await store.commit(lease, head, { ...NOTHING, events: stamped(head + 1, asked(step), finished(step)), files });
    return step;
  }

  #command = (command: Command, args: object): Promise<number> =>
    this.step((workspace) => call(command as never, args as never, contextOf(workspace)));

  write = (file: string, text: string): Promise<number> => this.#command(writeToFile as never, { file, text });
  delete = (file: string, permanently = false): Promise<number> =>
    this.#command(deleteFile as never, { file, permanently });
  move = (from: string, to: string): Promise<number> => this.#command(moveFile as never, { from, to });

  clone(path: string, files: CloneFiles): Promise<number> {
    return this.step((workspace) =>
      workspace.place(path, async (folder) => {
        for (const [name, text] of Object.entries(files)) putFile(join(folder, name), text);
      }),
    );
  }

  /** A person's edit, which goald does not see. */
  put = (path: string, text: string): void => putFile(join(this.folder, path), text);

  restore(step: number, paths: readonly string[] = []): Promise<RestorePlan> {
    return restoreFiles(this.row, this.folder, { step, paths }, this.#parts());
  }

  #parts(): RestoreParts {
    const now = new Date(Date.parse(AT) + ++this.#seconds * 1_000_000);
    const cut = this.#cutter();
    return {
      store: cut(this.store, "commit"),
      clock: { now: () => now },
      openFolder: (...given) => cut(openLocalWorkspace(...given), "write", "remove"),
      remember: rememberStep,
    };
  }

  /** Wraps methods that change something; all of them are counted together. */
  #cutter() {
    const { cut } = this;
    let count = 0;
    return <T extends object>(target: T, ...names: readonly (keyof T)[]): T =>
      new Proxy(target, {
        get: (_target, name) => {
          const own: unknown = Reflect.get(target, name);
          if (typeof own !== "function") return own;
          if (!names.includes(name as keyof T)) return own.bind(target);
          return async (...given: readonly unknown[]) => {
            const isCut = ++count === cut?.at;
            if (isCut && cut.when === "before") throw new PowerCut();
            const result: unknown = await Reflect.apply(own, target, given);
            if (isCut) throw new PowerCut();
            return result;
          };
        },
      });
  }

  plan(request: RestoreRequest) {
    const { store, row, folder } = this;
    return planRestore(row, request, { reader: store, workspace: openLocalWorkspace(folder) });
  }

  look = (): Readonly<Record<string, string>> => readTree(this.folder);

  /** Changes of each kind in the history, as `operation path bytes`. */
  async history(): Promise<readonly string[]> {
    const versions = await this.store.files(this.row.id);
    return versions.map(({ operation, path, bytes }) => `${operation} ${path} ${bytes}`);
  }

  /** Number of restorations in the log. */
  async restorations(): Promise<number> {
    return (await this.store.read(this.row.id, 0, 1_000)).filter(({ type }) => type === "files-restored").length;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.root, { recursive: true });
  }
}

function putFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Contents of all files by path; links as `-> target`. Leaves out empty folders. */
const readTree = (root: string): Readonly<Record<string, string>> => Object.fromEntries(listTree(root, ""));

function listTree(root: string, inside: string): readonly (readonly [string, string])[] {
  return readdirSync(join(root, inside))
    .sort()
    .flatMap((name) => {
      const path = join(inside, name);
      const stats = lstatSync(join(root, path));
      if (stats.isSymbolicLink()) return [[path, `-> ${readlinkSync(join(root, path))}`] as const];
      if (!stats.isDirectory()) return [[path, readFileSync(join(root, path), "utf8")] as const];
      return listTree(root, path);
    });
}

// Random steps of an agent, edits of a person and restorations, against the folder as it was after each step.

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
