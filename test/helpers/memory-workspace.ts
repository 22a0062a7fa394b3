/**
 * memory-workspace.ts -- the fake of the Workspace port, without a disk.
 *
 * Files are in a map by their normal path; a folder exists when it has files.
 */
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { GoaldError } from "#core/errors.ts";
import type { FileChange } from "#core/ports/store.ts";
import type { FileStat, LastVersion, Workspace } from "#core/ports/workspace.ts";
import { MAX_READ_BYTES } from "#workspace/file-content.ts";
import { normalizePath, refuseAgents, refuseChange } from "#workspace/path-rules.ts";

export type Files = Map<string, Uint8Array>;

interface Options {
  readonly files?: Files;
  readonly folder?: string;
  readonly own?: boolean;
  readonly onChange?: ((change: FileChange) => void) | undefined;
  readonly lastVersion?: LastVersion | undefined;
}

export class MemoryWorkspace implements Workspace {
  readonly folder: string;
  readonly #files: Files;
  readonly #options: Options;
  /** Changes reported here, which are newer than `lastVersion`. */
  readonly #reported = new Map<string, FileChange>();

  /** Workspaces with the same `files` share one folder. */
  constructor(options: Options = {}) {
    this.folder = options.folder ?? "/nowhere/workspace/foo";
    this.#files = options.files ?? new Map();
    this.#options = options;
  }

  plainPath(path: string): string {
    return normalizePath(path, this.folder);
  }

  async stat(path: string): Promise<FileStat | undefined> {
    const file = this.#path(path);
    const content = this.#files.get(file);
    return content && { path: file, bytes: content.length, modifiedAt: "2026-01-01T00:00:00.000Z" };
  }

  async read(path: string, range?: { readonly offset: number; readonly length: number }): Promise<Uint8Array> {
    const content = this.#existing(path);
    return content.slice(range?.offset ?? 0, range ? range.offset + range.length : undefined);
  }

  async write(path: string, content: string | Uint8Array): Promise<void> {
    const bytes = toBytes(content);
    const file = this.#pathToChange(path);
    this.#files.set(file, bytes);
    this.#report("write", file, bytes.length, bytes);
  }

  async append(path: string, content: string | Uint8Array): Promise<{ path: string; bytes: number }> {
    const bytes = toBytes(content);
    const file = this.#pathToChange(path);
    const base = this.#files.get(file) ?? new Uint8Array();
    if (this.#options.lastVersion && base.length > 0 && (await this.#versionOf(file))?.bytes !== base.length)
      this.#report("found", file, base.length, base);
    const whole = Buffer.concat([base, bytes]);
    this.#files.set(file, new Uint8Array(whole));
    this.#report("append", file, whole.length, bytes);
    return { path: file, bytes: whole.length };
  }

  async truncate(path: string, bytes: number): Promise<void> {
    const file = this.#pathToChange(path);
    const content = this.#existing(path);
    if (bytes < 0 || bytes > content.length)
      throw new GoaldError("GOALD_FILE", `Cannot cut ${path} to ${bytes} bytes.`);
    this.#files.set(file, content.slice(0, bytes));
  }

  async remove(path: string, { wasThere = false }: { readonly wasThere?: boolean } = {}): Promise<boolean> {
    const file = this.#pathToChange(path);
    const removed = this.#files.delete(file);
    if (removed || wasThere) this.#report("delete", file, 0, null);
    return removed;
  }

  async removeWhole(path: string): Promise<{ readonly bytes: number; readonly files: number } | undefined> {
    const whole = normalizePath(path, this.folder);
    refuseChange(whole, this.#options.own === true);
    refuseAgents(whole);
    const inside = [...this.#files].filter(([name]) => name === whole || name.startsWith(`${whole}/`));
    for (const [name] of inside) {
      this.#files.delete(name);
      if (((await this.#versionOf(name))?.operation ?? "delete") !== "delete") this.#report("delete", name, 0, null);
    }
    if (inside.length === 0) return undefined;
    return { files: inside.length, bytes: inside.reduce((sum, [, content]) => sum + content.length, 0) };
  }

  async move(from: string, to: string): Promise<void> {
    const source = this.#pathToChange(from);
    const content = this.#existing(source);
    const target = this.#pathToChange(to);
    if (this.#files.has(target)) throw new GoaldError("GOALD_FILE", `${to} exists already.`);
    this.#files.delete(source);
    this.#files.set(target, content);
    this.#report("write", target, content.length, content);
    this.#report("delete", source, 0, null);
  }

  async preserve(path: string): Promise<{ readonly bytes: number; readonly sha256: string } | undefined> {
    const file = this.#pathToChange(path);
    const content = this.#files.get(file);
    if (!content) return undefined;
    const bytes = content.length;
    if (bytes > MAX_READ_BYTES) throw new GoaldError("GOALD_FILE_TOO_LARGE", `${path} has ${bytes} bytes.`);
    const sha256 = createHash("sha256").update(content).digest("hex");
    const last = await this.#versionOf(file);
    if (last?.sha256 !== sha256 || last.bytes !== bytes) this.#report("found", file, bytes, content);
    return { bytes, sha256 };
  }

  async #versionOf(file: string): ReturnType<LastVersion> {
    return this.#reported.get(file) ?? (await this.#options.lastVersion?.(file));
  }

  async place<T>(path: string, fill: (folder: string) => Promise<T>): Promise<T> {
    const target = normalizePath(path, this.folder);
    const isTaken = () => [...this.#files.keys()].some((name) => name === target || name.startsWith(`${target}/`));
    if (target === "" || isTaken()) throw new GoaldError("GOALD_FILE", `${path} exists already.`);
    this.#pathToChange(path);
    const folder = await mkdtemp(join(tmpdir(), "goald-place-"));
    try {
      const filled = await fill(folder);
      if (isTaken()) throw new GoaldError("GOALD_FILE", `${path} exists already.`);
      for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
        const file = join(entry.parentPath, entry.name);
        if (entry.isFile()) this.#files.set(`${target}/${relative(folder, file)}`, await readFile(file));
      }
      this.#report("place", target, 0, null);
      return filled;
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  async notePlaced(path: string): Promise<void> {
    this.#report("place", normalizePath(path, this.folder), 0, null);
  }

  async *list(directory: string, entered: (folder: string) => boolean = () => true): AsyncIterable<FileStat> {
    const folder = normalizePath(directory, this.folder);
    if (this.#files.has(folder)) throw new GoaldError("GOALD_FILE", `${directory} is a file, not a folder.`);
    const inside = [...this.#files.keys()].filter((path) => folder === "" || path.startsWith(`${folder}/`)).sort();
    if (inside.length === 0 && folder !== "")
      throw new GoaldError("GOALD_FILE_MISSING", `There is no folder ${directory}.`);
    const left = new Set<string>();
    for (const path of inside) {
      const folders = path
        .split("/")
        .slice(0, -1)
        .map((_name, depth, names) => names.slice(0, depth + 1).join("/"));
      const below = folders.filter((name) => name.length > folder.length);
      const closed = below.find((name) => left.has(name) || !entered(name));
      if (closed === undefined) yield (await this.stat(path)) as FileStat;
      else left.add(closed);
    }
  }

  #path(path: string): string {
    const file = normalizePath(path, this.folder);
    const names = [...this.#files.keys()];
    if (file === "" || /(?:^|\/)\.{0,2}$/.test(path) || names.some((name) => name.startsWith(`${file}/`)))
      throw new GoaldError("GOALD_FILE", `${path} is a folder, not a file.`);
    if (names.some((name) => file.startsWith(`${name}/`)))
      throw new GoaldError("GOALD_FILE", `On the way to ${path} lies a file.`);
    return file;
  }

  #pathToChange(path: string): string {
    const file = this.#path(path);
    refuseChange(file, this.#options.own === true);
    return file;
  }

  #existing(path: string): Uint8Array {
    const content = this.#files.get(this.#path(path));
    if (!content) throw new GoaldError("GOALD_FILE_MISSING", `There is no file ${path}.`);
    return content;
  }

  #report(operation: FileChange["operation"], path: string, bytes: number, content: Uint8Array | null): void {
    const sha256 = content && createHash("sha256").update(content).digest("hex");
    const change = { path, operation, bytes, sha256, content };
    if (this.#options.lastVersion) this.#reported.set(path, change);
    this.#options.onChange?.(change);
  }
}

const toBytes = (content: string | Uint8Array): Uint8Array =>
  typeof content === "string" ? new TextEncoder().encode(content) : content.slice();
