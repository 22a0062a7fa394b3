/** cell-of-file.ts -- finds the cell of code that wrote a version of a file, and its line that names the file. Pure. */
import { isCellCommand } from "#core/command-names.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { FileVersion } from "#core/ports/store.ts";
import { isBlobRef, oneLine } from "#core/text.ts";
import { described, nullable, open, ordinal, type Static, text } from "#util/schema.ts";

export const CellView = open({
  callId: text,
  command: text,
  file: described(nullable(text), "The file that was run; null for code in the call itself."),
  line: described(nullable(ordinal), "Number of the first line that names the written file; null when none does."),
  source: described(text, "That line; empty when there is none."),
});
export type CellView = Static<typeof CellView>;

interface CellFinder {
  add(event: RecordedEvent): void;
  cellOf(version: FileVersion): CellView | null;
}

/** `versions`: the ones that `cellOf` will be called for. */
export function createCellFinder(versions: readonly FileVersion[]): CellFinder {
  const above = new Set(versions.flatMap(({ callId }) => idsAbove(callId)));
  const cells = new Map<string, Cell>();
  return {
    add: (event) => {
      if (event.type !== "command-requested" || !above.has(event.callId) || !isCellCommand(event.call.name)) return;
      const { code, file } = event.call.args;
      const head = isBlobRef(code) ? code.head : code;
      cells.set(event.callId, {
        command: event.call.name,
        code: typeof head === "string" ? head : "",
        file: typeof file === "string" ? file : null,
      });
    },
    cellOf: ({ callId, path }) => {
      const id = idsAbove(callId).find((each) => cells.has(each));
      const cell = id === undefined ? undefined : cells.get(id);
      return id === undefined || !cell ? null : describeCell(id, cell, path);
    },
  };
}

interface Cell {
  readonly command: string;
  readonly code: string;
  readonly file: string | null;
}

/** The calls that a nested call is inside of, the innermost first. */
function idsAbove(callId: string): readonly string[] {
  const ids: string[] = [];
  for (let end = callId.lastIndexOf("."); end > 0; end = callId.lastIndexOf(".", end - 1))
    ids.push(callId.slice(0, end));
  return ids;
}

const MAX_LINE_CHARS = 200;

function describeCell(callId: string, { command, code, file }: Cell, path: string): CellView {
  const lines = code.split("\n");
  const names = [path, path.slice(path.lastIndexOf("/") + 1)];
  const found = names.map((name) => lines.findIndex((line) => line.includes(name))).find((index) => index >= 0);
  const source = found === undefined ? "" : oneLine(lines[found] ?? "", MAX_LINE_CHARS);
  return { callId, command, file, line: found === undefined ? null : found + 1, source };
}
