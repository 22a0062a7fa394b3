/** subtask.ts -- what a sub-task may ask for, and how code learns that it has no result. */
import { checkArgs } from "#commands/args-schema.ts";
import { REPLY_FORMS } from "#core/agent-settings.ts";
import { GoaldError, isGoaldError } from "#core/errors.ts";
import type { CellCallError } from "#core/ports/sandbox.ts";
import { oneLine } from "#core/text.ts";
import { argumentsForResult, hasEndlessReference } from "#reply/check-value.ts";

/** A longer task belongs in a file: the prompt shows the task at every step. */
const MAX_TASK_CHARS = 10_000;
const MAX_SCHEMA_CHARS = 10_000;

/** Throws GOALD_SUBTASK for a task, a schema or a form that cannot be given to the model. */
export function checkSubtask(task: string, returns: Readonly<Record<string, unknown>>, form: string | undefined): void {
  if (form !== undefined && !REPLY_FORMS.some((known) => known === form)) {
    const text = `Expected one of the forms ${REPLY_FORMS.join(", ")}, got ${JSON.stringify(oneLine(form, 40))}.`;
    throw subtaskError({ code: "bad-form", text });
  }
  if (task.trim() === "" || task.length > MAX_TASK_CHARS)
    throw subtaskError(
      { code: "bad-task", text: `Expected a task of 1 to ${MAX_TASK_CHARS} characters, got ${task.length}.` },
      "Write long material to a file, and name the file in the task.",
    );
  if (JSON.stringify(returns).length > MAX_SCHEMA_CHARS)
    throw badSchema(`The JSON Schema of a result may have ${MAX_SCHEMA_CHARS} characters.`);
  const args = argumentsForResult(returns);
  const [problem] = checkArgs(args);
  if (problem)
    throw badSchema(`The JSON Schema of the result is not valid: ${problem.replaceAll("args.properties.", "")}.`);
  if (hasEndlessReference(args)) throw badSchema("A reference in the JSON Schema of the result leads back to itself.");
}

const badSchema = (text: string): GoaldError => subtaskError({ code: "bad-schema", text });

export const subtaskError = (problem: CellCallError, hint = ""): GoaldError =>
  new GoaldError("GOALD_SUBTASK", problem.text, { hint, cause: problem });

/** The error that code sees when its sub-task has no result; undefined for another error. Codes are those of frame-popped. */
export function subtaskProblem(thrown: unknown): CellCallError | undefined {
  if (!isGoaldError(thrown, "GOALD_SUBTASK")) return undefined;
  const { message, hint, cause } = thrown;
  const { code = "subtask" } = (cause ?? {}) as Partial<CellCallError>;
  return { code, text: hint === "" ? message : `${message} ${hint}` };
}
