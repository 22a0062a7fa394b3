/** restored-agent.ts -- an agent with a store in memory and a real folder, whose steps a test takes one by one. */
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Command } from "#core/command.ts";
import type { AgentRow, FileChange } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import type { OutsideSource } from "#core/provenance.ts";
import { STATE_VERSION } from "#core/state.ts";
import { type RestoreParts, restoreFiles } from "#host/restore-files.ts";
import { rememberStep } from "#memory/remember/remember.ts";
import { planRestore, type RestorePlan, type RestoreRequest } from "#views/restore-plan.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import deleteFile from "../../commands/delete_file.ts";
import moveFile from "../../commands/move_file.ts";
import writeToFile from "../../commands/write_to_file.ts";
import { call, contextOf } from "../commands/context.ts";
import { NOTHING, SPEC, stamped } from "../contracts/store-builders.ts";
import { AT, asked, finished } from "./events.ts";
import { MemoryStore } from "./memory-store.ts";
import { PowerCut, type When } from "./power-cut.ts";

/** The files of a clone, by path. */
export type CloneFiles = Readonly<Record<string, string>>;

export class RestoredAgent implements AsyncDisposable {
  readonly store = new MemoryStore();
  readonly root: string;
  readonly folder: string;
  /** Before or after which of its changes a restoration loses its power; undefined for none. */
  cut: { readonly at: number; readonly when: When } | undefined;
  #seconds = 0;
  #row: AgentRow | undefined;
  #steps = 0;

  private constructor(root: string) {
    this.root = root;
    this.folder = join(root, "workspace/foo");
  }

  static async make(): Promise<RestoredAgent> {
    const agent = new RestoredAgent(await mkdtemp(join(tmpdir(), "goald-restored-")));
    mkdirSync(agent.folder, { recursive: true });
    agent.#row = await agent.store.create(SPEC, "k", AT);
    return agent;
  }

  get row(): AgentRow {
    if (!this.#row) throw new Error("The agent was not made.");
    return this.#row;
  }

  get steps(): number {
    return this.#steps;
  }

  /** Makes one step of the agent, whose changes hold words of `outside`. Returns its number. */
  async step(act: (workspace: Workspace) => Promise<unknown>, outside?: readonly OutsideSource[]): Promise<number> {
    const { store, row } = this;
    const changes: FileChange[] = [];
    const step = ++this.#steps;
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
