/**
 * recalls.ts -- renders recalled memories as a delimited block of lines.
 *
 * A recall that is shown with the rows around it is one passage: their lines in the order of the memory, apart from other
 * passages by an empty line. Passages are in the order of their best recall.
 */
import { orderOf } from "#core/memory.ts";
import { delimitText } from "./delimit.ts";
import { renderNearLine, renderRecallLine } from "./recall-lines.ts";
import type { RecallPart, RowPart } from "./shown-recalls.ts";
import { fillTemplate, type Words } from "./template.ts";

/** Returns "" for no recalls. Ages are relative to `now`. */
export const renderRecalls = (parts: readonly RecallPart[], now: Date, words: Words): string =>
  parts.length === 0 ? "" : fillTemplate(words.recalls, { events: delimitText("data", renderPassages(parts, now)) });

/** Best first. Of each passage the lines in the order of the memory. */
export function renderPassages(parts: readonly RecallPart[], now: Date): string {
  const recalls = new Map(parts.map((part) => [part.row.id, part]));
  const renderRow = (part: RowPart): string => {
    const recall = recalls.get(part.row.id);
    return recall ? renderRecallLine(recall, now) : renderNearLine(part);
  };
  let text = "";
  let isLastAlone = true;
  for (const passage of joinPassages(parts)) {
    const rows = [...passage.values()].sort((a, b) => orderOf(a.row.id) - orderOf(b.row.id));
    const isAlone = rows.length === 1;
    if (text !== "") text += isAlone && isLastAlone ? "\n" : "\n\n";
    text += rows.map(renderRow).join("\n");
    isLastAlone = isAlone;
  }
  return text;
}

type Passage = Map<string, RowPart>;

/** Joins recalls that share a row or are beside each other. */
function joinPassages(parts: readonly RecallPart[]): readonly Passage[] {
  const passages: Passage[] = [];
  for (const part of parts) {
    const rows: readonly RowPart[] = [part, ...part.around];
    const [first = new Map<string, RowPart>(), ...more] = passages.filter((passage) =>
      rows.some(({ row }) => passage.has(row.id)),
    );
    for (const row of [...more.flatMap((passage) => [...passage.values()]), ...rows]) first.set(row.row.id, row);
    for (const passage of more) passages.splice(passages.indexOf(passage), 1);
    if (!passages.includes(first)) passages.push(first);
  }
  return passages;
}
