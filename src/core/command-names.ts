/** command-names.ts -- the commands that other parts than their own file know by name. */
import type { ReplyForm } from "./agent-settings.ts";
import type { CommandCall } from "./call.ts";
import type { OutputMode } from "./event.ts";
import type { ActionForm } from "./state.ts";
import { joinNames } from "./text.ts";

/** Ends the work. */
export const TASK_COMPLETE = "task_complete";
export const DO_NOTHING = "do_nothing";
export const THINK = "think";
/** Waits for the words of a person. */
export const ASK_USER = "ask_user";

export const PLAN_COMMANDS: readonly string[] = ["add_task", "modify_task"];

/** The commands that change the agent's own long-term memory. */
export const MEMORY_COMMANDS: readonly string[] = ["remember", "correct_memory", "forget_memory"];

/** Commands that change nothing but the agent's own thoughts and plan. */
export const PASSIVE_COMMANDS: ReadonlySet<string> = new Set([THINK, DO_NOTHING, ...PLAN_COMMANDS]);

/**
 * The first parameter of every native tool: models that must call one rarely write text beside the call. The reader
 * takes it out of the arguments.
 */
export const THOUGHT = "thought";
/** The command that the code of a reply calls. */
export const RUN_CODE = "run_code";
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

/** A cell that failed in another way than the following ones. */
export const CELL_FAILED = "cell-failed";
/** A cell that failed at an import: the machine lacks the package, so the failure does not count. */
export const IMPORT_FAILED = "import-failed";
/** A cell that a refused command ended. It does not count either. */
export const CELL_DENIED = "cell-denied";
/** A result of a run that does not match its schema. */
export const BAD_RESULT = "bad-result";
/** Nested work that would be too deep, and a cell that failed because of it. */
export const TOO_DEEP = "too-deep";

/** A model whose cells fail this often in a row does not mend them. */
export const MAX_FAILED_CELLS = 3;

export const isActionForm = (form: ReplyForm | OutputMode): form is ActionForm => form === "react" || form === "code";
