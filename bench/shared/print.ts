/** print.ts -- what the benches print alike: rows of a table, the machine, and whether a target is met. */
import { cpus } from "node:os";

/** Returns a function that writes a row: a title of this width, and cells that end below each other. */
export const rowOf =
  (titleWidth: number, cellWidth: number) =>
  (title: string, ...cells: readonly string[]): string =>
    title.padEnd(titleWidth) + cells.map((cell) => cell.padStart(cellWidth)).join("");

export const describeMachine = (): string =>
  `Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model.trim()}, ${process.platform}.`;

export const verdictOf = (isMet: boolean): string => (isMet ? "met" : "MISSED");
