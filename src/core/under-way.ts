/** under-way.ts -- which commands this process is in the middle of while the agent waits inside one of them. Pure. */
import type { Effect } from "./call.ts";
import { isCellCommand } from "./command-names.ts";
import { type AgentState, openCommand } from "./state.ts";

/** Effects of commands that run again after an interruption, and then get the recorded results of their nested work. */
const REPEATABLE: ReadonlySet<Effect> = new Set(["pure", "idempotent", "transactional"]);

/**
 *   nothing  no command runs in this process: a wait holds nothing
 *   command  a command would lose its place, or holds nothing worth giving back: it stays for as long as the wait takes
 *   cell     a cell holds a process of the sandbox. It may be left: it runs again when the wait is over
 */
type UnderWay = "nothing" | "command" | "cell";

/** `epoch`: of this process's lease. */
export function underWay(state: AgentState, epoch: number): UnderWay {
  const running = state.frames.flatMap(({ phase }) => {
    const open = phase.kind === "executing" ? openCommand(state, phase.callId) : undefined;
    return open?.intent?.epoch === epoch ? [{ name: open.call.name, effect: open.intent.effect }] : [];
  });
  if (running.length === 0) return "nothing";
  const mayLeave = running.every(({ effect }) => REPEATABLE.has(effect));
  return mayLeave && running.some(({ name }) => isCellCommand(name)) ? "cell" : "command";
}
