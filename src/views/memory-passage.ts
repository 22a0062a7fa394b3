/** memory-passage.ts -- finds the part of a command's result from which a memory was made. */

const BEFORE_CHARS = 200;
const AFTER_CHARS = 1_000;
/** Words of the memory that are sought in the result. */
const SOUGHT_WORDS = 8;

/** Returns null when the result is empty. White space in a memory is folded, so words are compared. */
export function passageOf(result: string, memory: string): string | null {
  if (result.trim() === "") return null;
  const kept = /^Result \([^)]*\): /m.exec(memory);
  const words = memory
    .slice(kept ? kept.index + kept[0].length : 0)
    .split(/\s+/)
    .filter((word) => word !== "")
    .slice(0, SOUGHT_WORDS);
  const pattern = words.map((word) => RegExp.escape(word)).join("\\s+");
  const at = words.length === 0 ? 0 : Math.max(0, result.search(new RegExp(pattern)));
  const [from, to] = [Math.max(0, at - BEFORE_CHARS), at + AFTER_CHARS];
  const passage = result.slice(from, to).toWellFormed().trim();
  return `${from > 0 ? "… " : ""}${passage}${to < result.length ? " …" : ""}`;
}
