/**
 * cell-crowd.ts -- agents whose every reply is a cell of 200 calls.
 *
 * A cell appends ten numbered lines to the agent's ledger and reads it in between. So the ledger shows each cell that was lost or
 * ran twice.
 */
import type { Line, Seen } from "../helpers/conditional-model.ts";
import { nameIn } from "../helpers/subagent-model.ts";

export const APPENDS = 10;
export const CALLS = 200;
const READS = CALLS / APPENDS - 1;

/** Number of the highest cell in the model's own replies. */
const cellsIn = ({ own }: Seen): number =>
  Math.max(0, ...[...own.join("\n").matchAll(/^Cell (\d+) of/gm)].map(([, number]) => Number(number)));

const javascript = (cell: number): string => `let length${cell} = 0;
for (let line = 1; line <= ${APPENDS}; line++) {
  append_to_file("ledger.txt", \`cell ${cell} line \${line}\\n\`);
  for (let read = 0; read < ${READS}; read++) length${cell} += read_file("ledger.txt").length > 0 ? 1 : 0;
}
length${cell}`;

const python = (cell: number): string => `length${cell} = 0
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

/** An agent whose name begins with P uses Python, all others JavaScript. */
export const crowdLines = (cells: number): readonly Line[] => [
  {
    say: (seen) => {
      const next = cellsIn(seen) + 1;
      if (next > cells) return `All ${cells} cells are done.`;
      const isPython = nameIn(seen.request).startsWith("P");
      const code = isPython ? python(next) : javascript(next);
      return `Cell ${next} of ${cells}.\n\n\`\`\`${isPython ? "python" : "javascript"}\n${code}\n\`\`\``;
    },
  },
];
