/**
 * carried-by-code.ts -- what the code of a namespace has received of the folder, memory and people.
 *
 * Code can give a text any form, so no search finds it in what the code sends. After code has received such a text, all that it
 * sends counts as carrying it (leaving.ts). Cells that run inside another cell share its namespace, and so what it received.
 */
import type { CarriedOrigin } from "#core/leaving.ts";
import type { CellLanguage } from "#core/ports/sandbox.ts";
import { isTainted } from "#core/provenance.ts";
import type { CellParts } from "./cells.ts";
import type { FindCarried } from "./describe-leaving.ts";
import type { Journal } from "./journal.ts";

export class CarriedByCode {
  #origin: CarriedOrigin | undefined;
  /** Texts that may hold text of the folder, memory or people, and files that may be anybody's. */
  #texts: string[] = [];
  #files: string[] = [];
  readonly #find: FindCarried | undefined;
  readonly #leave: (callId: string) => void;

  constructor(origin: CarriedOrigin | undefined, find: FindCarried | undefined, leave: (callId: string) => void) {
    this.#origin = origin;
    this.#find = find;
    this.#leave = leave;
  }

  note(origin: CarriedOrigin): void {
    if (!this.#isKnown) this.#origin = this.#origin?.isPlain && origin.isPlain ? this.#origin : origin;
  }

  /** No later text can change the origin. */
  get #isKnown(): boolean {
    return this.#origin !== undefined && !this.#origin.isPlain;
  }

  /** What the model wrote. */
  add(text: string): void {
    if (!this.#isKnown) this.#texts.push(text);
  }

  addFile(path: string): void {
    if (!this.#isKnown) this.#files.push(path);
  }

  /** Looks at what was added since the last time. */
  async find(journal: Journal): Promise<CarriedOrigin | undefined> {
    if (this.#isKnown) return this.#origin;
    const [texts, files] = [this.#texts, this.#files];
    this.#files = [];
    const [file] = files;
    if (!isTainted(journal.state) || !this.#find) {
      if (file !== undefined) this.note({ from: "folder", where: file });
      return this.#origin;
    }
    this.#texts = [];
    const found = await this.#find({ texts, files }, journal);
    if (found) this.note(found);
    return this.#origin;
  }

  leave(callId: string): void {
    this.#leave(callId);
  }
}

interface Live {
  readonly carried: CarriedByCode;
  /** The cells under way, from the outermost one. */
  readonly cells: Set<string>;
}
const LIVE = new WeakMap<CellParts, Map<CellLanguage, Live>>();

/** `saved`: what the namespace had received when it was saved. Call `leave` at the end of the cell. */
export function carriedByNamespace(
  { cells: parts, findCarried }: { readonly cells: CellParts; readonly findCarried?: FindCarried },
  language: CellLanguage,
  callId: string,
  saved: CarriedOrigin | undefined,
): CarriedByCode {
  const live = LIVE.get(parts) ?? new Map<CellLanguage, Live>();
  LIVE.set(parts, live);
  const leave = (ended: string): void => {
    const cells = live.get(language)?.cells;
    cells?.delete(ended);
    if (cells?.size === 0) live.delete(language);
  };
  const open = live.get(language) ?? { carried: new CarriedByCode(saved, findCarried, leave), cells: new Set() };
  live.set(language, open);
  open.cells.add(callId);
  return open.carried;
}
