/** memory-set-aside.ts -- the fake of the SetAside port, without a disk. It shares the files of a MemoryWorkspace. */
import { GoaldError } from "#core/errors.ts";
import type { AsideFolder, NotedRestoration, SetAside } from "#core/ports/set-aside.ts";
import type { Files } from "./memory-workspace.ts";

interface Entry {
  readonly at: number;
  /** By path in the folder; null when they were discarded. */
  files: Files | null;
}

export class MemorySetAside implements SetAside {
  readonly #files: Files;
  readonly #aside = new Map<string, Entry>();
  #noted: NotedRestoration | null = null;

  constructor(files: Files = new Map()) {
    this.#files = files;
  }

  canMove = async (): Promise<boolean> => true;
  readRestoration = async (): Promise<NotedRestoration | null> => this.#noted;
  /** A folder exists while it has files. */
  removeEmpty = async (): Promise<void> => undefined;

  async noteRestoration(restoration: NotedRestoration | null): Promise<void> {
    this.#noted = restoration;
  }

  async kindOf(path: string): Promise<"folder" | "other" | "none"> {
    if (this.#files.has(path)) return "other";
    return this.#inside(path).length > 0 ? "folder" : "none";
  }

  async find(key: string): Promise<AsideFolder | undefined> {
    const entry = this.#aside.get(key);
    if (!entry) return undefined;
    return entry.files ? { state: "kept", folder: `/nowhere/aside/${key}` } : { state: "discarded" };
  }

  async take(path: string, key: string, at: Date): Promise<void> {
    if ((await this.kindOf(path)) !== "folder") throw refusal(path);
    const taken: Files = new Map();
    for (const [name, content] of this.#inside(path)) {
      taken.set(name.slice(path.length + 1), content);
      this.#files.delete(name);
    }
    this.#aside.set(key, { at: at.getTime(), files: taken });
  }

  async putBack(key: string, path: string): Promise<void> {
    const files = this.#aside.get(key)?.files;
    if (!files || (await this.kindOf(path)) !== "none") throw refusal(path);
    for (const [name, content] of files) this.#files.set(`${path}/${name}`, content);
    this.#aside.delete(key);
  }

  async trim(bytes: number, since: Date): Promise<readonly string[]> {
    const entries = [...this.#aside].sort(([, a], [, b]) => a.at - b.at);
    const sizeOf = ({ files }: Entry): number =>
      [...(files?.values() ?? [])].reduce((sum, { length }) => sum + length, 0);
    let total = entries.reduce((sum, [, entry]) => sum + sizeOf(entry), 0);
    const discarded: string[] = [];
    for (const [key, entry] of entries) {
      if (total <= bytes || entry.at >= since.getTime()) break;
      total -= sizeOf(entry);
      entry.files = null;
      discarded.push(key);
    }
    return discarded;
  }

  #inside = (path: string): readonly (readonly [string, Uint8Array])[] =>
    [...this.#files].filter(([name]) => name.startsWith(`${path}/`));
}

const refusal = (path: string): GoaldError => new GoaldError("GOALD_FILE", `${path} cannot be moved.`);
