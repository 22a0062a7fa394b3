/** outer-command.ts -- a loop whose agent uses one command, `outer`, that does what a test says. */
import { type Command, type CommandContext, defineCommand, succeed } from "#core/command.ts";
import { done, type Loop, type LoopOptions, makeLoop, reply } from "./loop.ts";

/** A command named `outer` that runs `act` and returns its value as JSON. */
export const outerCommand = (
  act: (context: CommandContext) => Promise<unknown>,
  more: Partial<Command> = {},
): Command =>
  ({
    ...defineCommand({
      name: "outer",
      label: "Outer",
      summary: "does other work.",
      args: { type: "object", properties: {} },
      annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
      effect: "transactional",
      run: async (_args, context) => succeed(JSON.stringify(await act(context)) ?? "nothing"),
    }),
    ...more,
  }) as unknown as Command;

export const loopWith = (
  act: (context: CommandContext) => Promise<unknown>,
  options: Partial<LoopOptions> & Partial<Pick<Command, "effect" | "timeoutMs">> = {},
) => {
  const { effect = "transactional", timeoutMs = 1_000, ...rest } = options;
  return makeLoop({ script: [reply("outer"), done()], ...rest, commands: [outerCommand(act, { effect, timeoutMs })] });
};

/** The observation of a call, as the log has it. */
export const resultOf = async (loop: Loop, callId = "c1") => {
  const events = await loop.events();
  return events.findLast((event) => event.type === "command-finished" && event.callId === callId) as unknown as {
    readonly observation: { readonly status: string; readonly text: string; readonly code?: string };
  };
};
