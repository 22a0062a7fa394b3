/**
 * command-texts.ts -- the texts of goald's own commands that memory treats in a special way: those that are text of a file or
 * page, and those that only confirm the call. The text of any other command belongs to its call.
 */
import type { CommandCall, Observation } from "#core/call.ts";
import { DO_NOTHING, THINK } from "#core/command-names.ts";
import type { LineRange } from "#core/memory.ts";
import { oneLine } from "#core/text.ts";

export interface TextOfSource {
  /** The file or page. */
  readonly source: string;
  readonly text: string;
  /** The lines of the file that the text has; absent: unknown. */
  readonly lines?: LineRange;
  /** The source has no other text now than this and what it had outside these lines. */
  readonly isCurrent?: true;
}

export interface CommandTexts {
  /** The result says no more than the call. */
  readonly isConfirmed: boolean;
  readonly result?: TextOfSource;
  /** The argument of this name is text of the source. */
  readonly argument?: TextOfSource & { readonly name: string };
}

const CONFIRMING: ReadonlySet<string> = new Set([
  ...["append_to_file", "write_to_file", "edit_file", "move_file", "delete_file", "add_task", "modify_task"],
  ...[DO_NOTHING, THINK],
]);

/** `result`: the whole text of the observation; `args`: those of the call, with long texts whole. */
export function readCommandTexts(
  { name, args }: CommandCall,
  { status, artifacts }: Pick<Observation, "status" | "artifacts">,
  result: string,
): CommandTexts {
  if (status !== "ok") return { isConfirmed: false };
  const isConfirmed = CONFIRMING.has(name);
  switch (name) {
    case "read_file":
      return { isConfirmed, ...fileIn(result) };
    case "browse_website": {
      const source = oneLine(`${args.url}, asked: ${args.question}`, 300);
      return { isConfirmed, result: { source, text: result, isCurrent: true } };
    }
    case "write_to_file": {
      const text = String(args.text);
      const all = text.split("\n").length;
      const written = { name: "text", text, source: artifacts[0] ?? String(args.file) };
      return { isConfirmed, argument: { ...written, lines: { first: 1, last: all, all }, isCurrent: true } };
    }
    case "append_to_file":
    case "edit_file": {
      const argument = name === "edit_file" ? "new" : "text";
      const source = artifacts[0] ?? String(args.file);
      return { isConfirmed, argument: { name: argument, text: String(args[argument]), source } };
    }
    default:
      return { isConfirmed };
  }
}

const FILE_HEAD = /^(.{1,300}), (?:the beginning of )?lines? (\d+)(?: to (\d+))? of (\d+):\n/;
const FILE_END = /\n?\[(?:Read on with first_line|This line goes on)[^\]\n]*\]$/;

/** Takes a result of read_file apart. */
function fileIn(result: string): Pick<CommandTexts, "result"> {
  const [head, source = "", first, last = first, all] = FILE_HEAD.exec(result) ?? [];
  if (head === undefined) return {};
  const text = result.slice(head.length).replace(FILE_END, "");
  const lines = { first: Number(first), last: Number(last), all: Number(all) };
  return { result: { source, text, lines, isCurrent: true } };
}
