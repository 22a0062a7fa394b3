/** number-code.ts -- code as numbered lines, for people. */
import { showUnseen } from "./unseen.ts";

/** Unseen and control characters are written out, so that the code cannot look different from what runs. */
export function numberCode(code: string): readonly string[] {
  const lines = showUnseen(code.replace(/\n$/, "")).split("\n");
  const width = String(lines.length).length;
  return lines.map((line, index) => `${String(index + 1).padStart(width)} | ${line}`);
}
