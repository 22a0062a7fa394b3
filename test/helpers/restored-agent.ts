/** restored-agent.ts -- an agent with a store in memory and a real folder, whose steps a test takes one by one. */
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Command } from "#core/command.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { FileChange } from "#core/ports/file-version.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { STATE_VERSION } from "#core/state.ts";
import { type Restored, type RestoreParts, restoreFiles } from "#host/restore-files.ts";
import { rememberStep } from "#memory/recall/remember.ts";
import { planRestore } from "#views/restore-plan.ts";
import type { RestoreRequest } from "#views/restore-target.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { openSetAside } from "#workspace/set-aside.ts";
import deleteFile from "../../commands/delete_file.ts";
import moveFile from "../../commands/move_file.ts";
import writeToFile from "../../commands/write_to_file.ts";
import { call, contextOf } from "../commands/context.ts";
import { NOTHING, SPEC, stamped } from "../contracts/store-builders.ts";
import { AT, asked, finished } from "./events.ts";
import { MemoryStore } from "./memory-store.ts";
import { PowerCut, type When } from "./power-cut.ts";

const FROM_GIT = { outside: [{ from: "web", name: "git.example.org" }] } as const;

/** The files of a clone, by path. */
export type CloneFiles = Readonly<Record<string, string>>;

export class RestoredAgent implements AsyncDisposable {
  readonly store = new MemoryStore();
  readonly root: string;
  readonly folder: string;
  readonly outside: string;
  asideBytes = 1_000_000;
  /** Before or after which of its changes a restoration loses its power; undefined for none. */
  cut: { readonly at: number; readonly when: When } | undefined;
  #seconds = 0;
  #row: AgentRow | undefined;
  #steps = 0;

  private constructor(root: string) {
    this.root = root;
    this.folder = join(root, "workspace/foo");
    this.outside = join(root, ".goald/aside/foo");
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

  /** Makes one step of the agent. Returns its number. */
  async step(act: (workspace: Workspace) => Promise<unknown>): Promise<number> {
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
    const files = changes.map((change) => ({ ...change, ...of, ...(change.operation === "place" ? FROM_GIT : {}) }));
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

  restore(step: number | null, options: { paths?: readonly string[]; isForced?: boolean } = {}): Promise<Restored> {
    return restoreFiles(this.row, { step, paths: [], ...options }, this.parts());
  }

  undo = (isForced = false): Promise<Restored> => this.restore(null, { isForced });

  parts(): RestoreParts {
    const { store, folder, asideBytes } = this;
    const now = new Date(Date.parse(AT) + ++this.#seconds * 1_000_000);
    const cut = this.#cutter();
    const openWorkspace: RestoreParts["openWorkspace"] = (...given) =>
      cut(openLocalWorkspace(...given), "write", "remove");
    return {
      store: cut(store, "commit"),
      aside: cut(openSetAside(folder, this.outside), "take", "putBack", "removeEmpty", "noteRestoration"),
      ...{ folder, asideBytes, clock: { now: () => now }, openWorkspace, remember: rememberStep },
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
    const aside = openSetAside(folder, this.outside);
    return planRestore(request, { row, reader: store, folder, openWorkspace: openLocalWorkspace, aside });
  }

  look = (): Readonly<Record<string, string>> => readTree(this.folder);

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.root, { recursive: true });
  }
}

function putFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Contents of all files by path; links as `-> target`, empty folders as `/`. */
export const readTree = (root: string): Readonly<Record<string, string>> => Object.fromEntries(listTree(root, ""));

function listTree(root: string, inside: string): readonly (readonly [string, string])[] {
  return readdirSync(join(root, inside))
    .sort()
    .flatMap((name) => {
      const path = join(inside, name);
      const stats = lstatSync(join(root, path));
      if (stats.isSymbolicLink()) return [[path, `-> ${readlinkSync(join(root, path))}`] as const];
      if (!stats.isDirectory()) return [[path, readFileSync(join(root, path), "utf8")] as const];
      const inner = listTree(root, path);
      return inner.length === 0 ? [[path, "/"] as const] : inner;
    });
}
