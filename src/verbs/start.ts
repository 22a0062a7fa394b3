/** start.ts -- `goald start`, `npm start` and plain `goald`: the set-up on a terminal, the demo without one. */
import { demoVerb } from "./demo.ts";
import type { RunOptions } from "./run.ts";

export async function start(options: RunOptions): Promise<number> {
  const onTerminal =
    process.stdin.isTTY === true && process.stdout.isTTY === true && options.input !== false && options.json !== true;
  return onTerminal ? (await import("./run.ts")).runVerb(undefined, options) : demoVerb(options);
}
