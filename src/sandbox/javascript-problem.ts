/** javascript-problem.ts -- what failed in a cell of JavaScript, and in which of its lines. */
import type { CellProblem } from "#core/ports/sandbox.ts";
import type { RealmError } from "./javascript-realm-port.ts";

interface FailedCode {
  readonly code: string;
  readonly name: string;
}

export function problemOf(
  { type, message, stack, command }: Omit<RealmError, "isStop">,
  cell: FailedCode,
): CellProblem {
  const missing = type === "ReferenceError" ? /^'(.+)' is not defined$/.exec(message)?.[1] : undefined;
  const isMemory = type === "InternalError" && message === "out of memory";
  return {
    kind: isMemory ? "memory" : type === "SyntaxError" ? "syntax" : "error",
    type,
    message: isMemory ? "The code needed too much memory." : message,
    ...findLine(stack, cell),
    ...(missing === undefined ? {} : { missingName: missing }),
    ...(command ? { command } : {}),
  };
}

export const timeoutOf = (stack: string, cell: FailedCode & { readonly timeLimitMs: number }): CellProblem => ({
  kind: "timeout",
  type: "TimeoutError",
  message: `The code ran longer than ${cell.timeLimitMs / 1000} s and was stopped.`,
  ...findLine(stack, cell),
});

export const waitingOf = (): CellProblem => ({
  kind: "error",
  type: "Error",
  message: "The code waits for a promise that nothing resolves.",
  line: null,
  source: null,
});

/** QuickJS itself has failed, not the code. */
export const brokenOf = (error: unknown): CellProblem => ({
  kind: "died",
  type: "RangeError",
  message:
    Error.isError(error) && error.name === "RangeError"
      ? "The code is nested too deeply. Variables and functions are as they were before it."
      : "The engine of JavaScript has failed. Variables and functions are as they were before this code.",
  line: null,
  source: null,
});

/** The innermost place of the stack that is in the cell's own code. */
function findLine(stack: string, { code, name }: FailedCode): Pick<CellProblem, "line" | "source"> {
  for (const place of stack.split("\n")) {
    const at = place.lastIndexOf(`${name}:`);
    const line = at < 0 ? Number.NaN : Number.parseInt(place.slice(at + name.length + 1), 10);
    const source = code.split("\n")[line - 1];
    if (source !== undefined) return { line, source: source.trim() };
  }
  return { line: null, source: null };
}
