/**
 * cell-crowd.ts -- agents whose every reply is a cell of 200 calls.
 *
 * A cell appends ten numbered lines to the agent's ledger and reads it in between. So the ledger shows each cell that was lost or
 * ran twice.
 */
import type { Line, Seen } from "../helpers/conditional-model.ts";

export const APPENDS = 10;
export const CALLS = 200;
const READS = CALLS / APPENDS - 1;

/** Number of the highest cell in the model's own replies. */
const cellsIn = ({ own }: Seen): number =>
  Math.max(0, ...[...own.join("\n").matchAll(/^Cell (\d+) of/gm)].map(([, number]) => Number(number)));

const codeOf = (cell: number): string => `length${cell} = 0
for line in range(1, ${APPENDS + 1}):
    append_to_file("ledger.txt", f"cell ${cell} line {line}\\n")
    for read in range(${READS}):
        length${cell} += 1 if read_file("ledger.txt") else 0
length${cell}`;

export const ledgerOf = (cells: number): string =>
  Array.from(
    { length: cells * APPENDS },
    (_, at) => `cell ${Math.floor(at / APPENDS) + 1} line ${(at % APPENDS) + 1}\n`,
  ).join("");

export const crowdLines = (cells: number): readonly Line[] => [
  {
    say: (seen) => {
      const next = cellsIn(seen) + 1;
      if (next > cells) return `All ${cells} cells are done.`;
      return `Cell ${next} of ${cells}.\n\n\`\`\`python\n${codeOf(next)}\n\`\`\``;
    },
  },
];
