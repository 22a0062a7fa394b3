/** cells.ts -- cells of code: which commands run them, what a namespace leaves in the state, and when they fail too often. Pure. */

import type { ReplyForm } from "./agent-settings.ts";
import type { CommandCall, Observation } from "./call.ts";
import type { EventOf, OutputMode } from "./event.ts";
import { type At, inFrame, putCall } from "./fold.ts";
import type { ActionForm, Frame } from "./frame.ts";
import type { OutsideSource } from "./provenance.ts";
import { type AgentState, openCommand } from "./state.ts";
import { joinNames } from "./text.ts";

/** The command that the code of a reply calls. */
export const RUN_CODE = "run_code";
/** Commands that run code in a namespace. */
const CELL_COMMANDS: readonly string[] = [RUN_CODE, "execute_python_file"];
export const isCellCommand = (name: string): boolean => CELL_COMMANDS.includes(name);

/** Advice for people. */
export const INSTALL_SANDBOX = "Install the package of the sandbox: npm install pyodide.";

/** The internal command by which a cell saves files. For people, the cell itself wrote them. */
export const SAVES_FILES = "save_files";

/** The files that such a call saves, for people; undefined for another call. */
export function describeSaved({ name, args }: CommandCall): string | undefined {
  if (name !== SAVES_FILES || !Array.isArray(args.files)) return undefined;
  const paths = args.files.map((file) => String(Object(file).path));
  return joinNames(paths, MAX_NAMED);
}
const MAX_NAMED = 5;

/** Observation codes: a cell that failed in another way than at an import, and a result of a run that does not match its schema. */
export const CELL_FAILED = "cell-failed";
/** A cell that failed at an import: the machine lacks the package, so the failure does not count. */
export const IMPORT_FAILED = "import-failed";
/** A cell that a refused command ended. It does not count either. */
export const CELL_DENIED = "cell-denied";
export const BAD_RESULT = "bad-result";
/** Nested work that would be too deep, and a cell that failed because of it. */
export const TOO_DEEP = "too-deep";

/** A model whose cells fail this often in a row does not mend them. */
export const MAX_FAILED_CELLS = 3;
/** A result that does not match is asked for once more. */
const MAX_BAD_RESULTS = 2;
/** Method names that the state keeps: the newest of all searches. */
const MAX_FOUND_METHODS = 20;

/** A saved namespace. Its content is in the event. */
export interface NamespaceRef {
  readonly seq: number;
  readonly version: string;
  /** Absent: it has received no outside words since a person trusted all of them. */
  readonly outside?: readonly OutsideSource[];
}

export function namespaceSaved(state: AgentState, event: EventOf<"namespace-saved"> & At): AgentState {
  const { version, outside, seq } = event;
  return { ...state, namespace: { seq, version, ...(outside ? { outside } : {}) } };
}

/** A person trusts all outside words: those of the namespace too. */
export function trustNamespace(namespace: NamespaceRef | null): NamespaceRef | null {
  if (!namespace) return null;
  const { outside: _, ...trusted } = namespace;
  return trusted;
}

/** Newest first, each name once. */
export function methodsFound(state: AgentState, { names }: EventOf<"methods-found">): AgentState {
  const found = [...new Set([...names, ...state.foundMethods])].slice(0, MAX_FOUND_METHODS);
  return { ...state, foundMethods: found };
}

/** Counts the failures of the frame's cells and results. */
export function countCell(state: AgentState, { frame }: At, name: string, { status, code }: Observation): AgentState {
  if (code === BAD_RESULT) return inFrame(state, frame, (one) => ({ ...one, badResults: one.badResults + 1 }));
  if (!isCellCommand(name) || (status !== "ok" && code !== CELL_FAILED && code !== TOO_DEEP)) return state;
  const outermost = code === TOO_DEEP ? outermostCommand(state) : undefined;
  const counted = outermost ? putCall(state, { ...outermost, tooDeep: (outermost.tooDeep ?? 0) + 1 }) : state;
  return inFrame(counted, frame, (one) => ({ ...one, failedCells: status === "ok" ? 0 : one.failedCells + 1 }));
}

/** The forms in which a reply is text with a piece of code. */
export const isActionForm = (form: ReplyForm | OutputMode): form is ActionForm => form === "react" || form === "code";

/** The agent's own command below all nested work; undefined when there is none. */
const outermostCommand = (state: AgentState) => openCommand(state, state.frames[1]?.origin?.callId ?? "");

/** Why all sub-tasks end with an error: each level would try again, and the next one after it. Undefined while they may go on. */
export function depthTrouble(state: AgentState) {
  const { tooDeep = 0 } = outermostCommand(state) ?? {};
  const text = `${MAX_FAILED_CELLS} pieces of code gave sub-tasks too deep. Do the work instead of passing it on.`;
  return tooDeep < MAX_FAILED_CELLS ? undefined : { code: TOO_DEEP, text };
}

/** Why the frame must give up; undefined while it may go on. */
export function cellTrouble({ failedCells, badResults }: Frame) {
  if (badResults >= MAX_BAD_RESULTS)
    return {
      code: BAD_RESULT,
      reason: `${badResults} results in a row did not match the type that was asked for.`,
    } as const;
  if (failedCells >= MAX_FAILED_CELLS)
    return { code: "failing-cells", reason: `${failedCells} pieces of code in a row failed.` } as const;
  return undefined;
}
