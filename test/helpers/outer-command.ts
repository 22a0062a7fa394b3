/** outer-command.ts -- a loop whose agent uses one command, `outer`, that does what a test says. */
import type { Annotations } from "#core/call.ts";
import { type Command, type CommandContext, succeed } from "#core/command.ts";
import { done, type Loop, type LoopOptions, makeLoop, reply } from "./loop.ts";

/** Annotations of a command that only reads, and of one that writes. */
export const READS: Annotations = { readOnly: true, destructive: false, idempotent: true, openWorld: false };
export const WRITES: Annotations = { ...READS, readOnly: false };

/** A command of a test: without arguments, reading, and at-most-once unless `part` says otherwise. */
export const testCommand = <A extends object = object>(
  name: string,
  run: (args: A, context: CommandContext) => Promise<unknown>,
  part: Partial<Command> = {},
): Command =>
  ({
    ...{ name, label: name, summary: `does ${name}.`, args: { type: "object", properties: {} }, annotations: READS },
    ...{ run, ...part },
  }) as unknown as Command;
/** The schema of arguments that are required texts. */
export const textArgs = (...names: readonly string[]): Command["args"] => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string", description: name }])),
  required: names,
});

/** A command named `outer` that runs `act` and returns its value as JSON. */
export const outerCommand = (
  act: (context: CommandContext) => Promise<unknown>,
  more: Partial<Command> = {},
): Command =>
  testCommand("outer", async (_args, context) => succeed(JSON.stringify(await act(context)) ?? "nothing"), {
    ...{ effect: "transactional", ...more },
  });

export const loopWith = (
  act: (context: CommandContext) => Promise<unknown>,
  options: Partial<LoopOptions> & Partial<Pick<Command, "effect" | "timeoutMs">> = {},
) => {
  const { effect = "transactional", timeoutMs = 1_000, ...rest } = options;
  return makeLoop({ script: [reply("outer"), done()], ...rest, commands: [outerCommand(act, { effect, timeoutMs })] });
};

/** The observation of a call, as the log has it. */
export const resultOf = async (loop: Loop, callId = "c1") =>
  (await loop.of("command-finished")).findLast((event) => event.callId === callId) as unknown as {
    readonly observation: { readonly status: string; readonly text: string; readonly code?: string };
  };
