/**
 * The property: after any changes by goald and a person, and after crashes, each version can be rebuilt from rows and
 * blobs alone and equals the file on the disk when the change was reported.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { Command, CommandContext } from "#core/command.ts";
import type { FileChange, FileVersion, Lease, Store } from "#core/ports/store.ts";
import type { LastVersion, OpenWorkspace } from "#core/ports/workspace.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import appendToFile from "../../commands/append_to_file.ts";
import deleteFile from "../../commands/delete_file.ts";
import writeToFile from "../../commands/write_to_file.ts";
import { contextOf } from "../commands/context.ts";
import { AT, finished, NOTHING, SPEC, stamped } from "../helpers/events.ts";
import { useFolder } from "../helpers/folder.ts";
import { openMemoryStore } from "../helpers/memory-store.ts";
import { MemoryWorkspace } from "../helpers/memory-workspace.ts";
import { acts, liveThrough as liveAndRestore } from "../helpers/restored-agent.ts";
import { cases } from "../helpers/waits.ts";

/** A store, a folder, and a person who changes files without a report. */
interface Setup {
  readonly store: Store;
  readonly open: OpenWorkspace;
  read(path: string): string | null;
  put(path: string, text: string | null): void;
}

const COMMANDS = { write: writeToFile, append: appendToFile, delete: deleteFile };
interface Step {
  readonly kind: keyof typeof COMMANDS | "person writes" | "person deletes";
  readonly path: string;
  readonly text: string;
  /** After the effect and before its result is kept; then the call is looked at again. */
  readonly crash: boolean;
}
const steps = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom("write", "append", "append", "delete", "person writes", "person deletes"),
    path: fc.constantFrom("a.txt", "b/c.txt"),
    text: fc.string({ maxLength: 20, unit: "binary" }),
    crash: fc.boolean(),
  }),
  { maxLength: 20 },
);

/** The content of a path when a change of it was reported. */
interface Seen {
  readonly change: FileChange;
  readonly content: string | null;
}

class Life {
  readonly kept: Seen[] = [];
  readonly #setup: Setup;
  readonly #lease: Lease;
  readonly #lastVersion: LastVersion | undefined;
  #head = 1;
  #edits = 0;

  constructor(setup: Setup, lease: Lease, lastVersion: LastVersion | undefined) {
    this.#setup = setup;
    this.#lease = lease;
    this.#lastVersion = lastVersion;
  }

  async take({ kind, path, text, crash }: Step): Promise<void> {
    if (kind === "person deletes") this.#setup.put(path, null);
    // The size differs from all versions, because an edit of the same size before an append is not noticed (see `FileChange`).
    else if (kind === "person writes") this.#setup.put(path, `${++this.#edits} `.padEnd(this.#edits * 10_000, "."));
    else await this.#call(COMMANDS[kind] as unknown as Command, { file: path, text: text.toWellFormed() }, crash);
  }

  /** As the daemon does it: prepared, kept, run, kept; a crash loses what came of the first run. */
  async #call(command: Command, args: object, crash: boolean): Promise<void> {
    const prepare = (context: CommandContext) => command.prepare?.(args as never, context) ?? Promise.resolve(null);
    const prepared = await this.#during(prepare);
    const run = (lost: boolean) => this.#during((context) => command.run(args as never, context, prepared), { lost });
    await run(crash);
    if (!crash) return;
    if (command.probe) {
      const probe = (context: CommandContext) => command.probe?.(args as never, context, prepared);
      if ((await this.#during(async (context) => probe(context))) !== "not-done") return;
    }
    await this.#during(prepare);
    await run(false);
  }

  async #during<T>(act: (context: CommandContext) => Promise<T>, { lost = false } = {}): Promise<T> {
    const seen: Seen[] = [];
    const onChange = (change: FileChange): void => {
      seen.push({ change, content: this.#setup.read(change.path) });
    };
    const options = this.#lastVersion ? { lastVersion: this.#lastVersion } : {};
    const result = await act(contextOf(this.#setup.open("", onChange, options)));
    if (!lost) await this.#keep(seen);
    return result;
  }

  async #keep(seen: readonly Seen[]): Promise<void> {
    const step = ++this.#head;
    const of = { step, callId: `c${step}` };
    const files = seen.map(({ change }) => ({ ...change, ...of }));
    await this.#setup.store.commit(this.#lease, step - 1, { ...NOTHING, events: stamped(step, finished(step)), files });
    this.kept.push(...seen);
  }
}

async function restoreAll(setup: Setup, kept: readonly Seen[]): Promise<void> {
  const rows = await setup.store.files("foo");
  const changesOf = (list: readonly Pick<FileChange, "operation" | "path">[]) =>
    list.map(({ operation, path }) => `${operation} ${path}`);
  expect(changesOf(rows)).toEqual(changesOf(kept.map(({ change }) => change)));
  for (const [index, { change, content }] of kept.entries()) {
    const versions = rows.slice(0, index + 1).filter(({ path }) => path === change.path);
    const restored = await restoreFile(versions, setup.store);
    expect(restored && Buffer.from(restored).toString()).toBe(content);
  }
}

const inFolder = useFolder();
let homes = 0;

async function openRealSetup(): Promise<Setup> {
  const home = inFolder(`${++homes}`);
  const workspace = join(home, "workspace", "foo");
  const at = (path: string): string => join(workspace, path);
  const store = await openSqliteStore(join(home, ".goald", "goald.db"));
  await openLocalWorkspace(workspace).write("b/keep", "");
  return {
    store,
    open: (_folder, onChange, options) => openLocalWorkspace(workspace, onChange, options),
    read: (path) => readOrNull(at(path)),
    put: (path, text) => (text === null ? rmSync(at(path), { force: true }) : writeFileSync(at(path), text)),
  };
}

async function openFakeSetup(): Promise<Setup> {
  const files = new Map<string, Uint8Array>();
  return {
    store: openMemoryStore(),
    open: (_folder, onChange, options) => new MemoryWorkspace({ files, onChange, ...options }),
    read: (path) => (files.get(path) && Buffer.from(files.get(path) ?? []).toString()) ?? null,
    put: (path, text) => (text === null ? files.delete(path) : files.set(path, Buffer.from(text))),
  };
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

async function liveThrough(setup: Setup, steps: readonly Step[], asks = true): Promise<void> {
  const { store } = setup;
  await store.create(SPEC, "k", AT);
  const lastVersion = (path: string) => store.lastFileVersion("foo", path);
  const life = new Life(setup, await store.claim("foo"), asks ? lastVersion : undefined);
  try {
    for (const step of steps) await life.take(step);
    await restoreAll(setup, life.kept);
    expect((await store.verify()).problems).toEqual([]);
  } finally {
    await store.close();
  }
}

describe.each([
  ["a real folder and store", openRealSetup, cases(25)],
  ["the fakes", openFakeSetup, cases(100)],
] as const)("every version of every file, with %s", (_name, make, numRuns) => {
  it("can be restored from the history alone after any changes", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => liveThrough(await make(), taken)),
      { numRuns },
    );
  });

  it("cannot be restored without `lastVersion` (control)", async () => {
    const step = { path: "a.txt", text: "piece", crash: false };
    const edited: Step[] = [
      { ...step, kind: "person writes" },
      { ...step, kind: "append" },
    ];
    await liveThrough(await make(), edited);
    await expect(liveThrough(await make(), edited, false)).rejects.toThrow("the history holds");
  });
});

describe("many random steps, edits, clones and restorations", () => {
  it("lead to the files as they were after the step, touch no clone that stands there, and lose no edit", () =>
    fc.assert(fc.asyncProperty(acts, liveAndRestore), { seed: 24, numRuns: cases(500) }));
});

// Restores a file's content from its history alone, as `FileChange` in ports/store.ts says.

/** `versions` are those of one path, oldest first. Returns null for no file. Throws when the history is incomplete. */
async function restoreFile(versions: readonly FileVersion[], store: Pick<Store, "blob">): Promise<Uint8Array | null> {
  let content: Uint8Array | null = null;
  for (const { operation, bytes, sha256 } of versions) {
    if (operation === "delete") content = null;
    else {
      const piece = await store.blob(sha256 ?? "");
      if (!piece) throw new Error(`Expected the blob ${sha256}, found none.`);
      const base: Uint8Array =
        operation === "append" && bytes > piece.length ? (content ?? new Uint8Array()) : new Uint8Array();
      content = Buffer.concat([base, piece]);
      if (content.length !== bytes) throw new Error(`Expected ${bytes} bytes, the history holds ${content.length}.`);
    }
  }
  return content;
}
