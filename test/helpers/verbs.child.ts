/**
 * verbs.child.ts -- a process that answers many calls of goald's command line, one after the other.
 *
 * A call comes over IPC with its folder and environment; the answer has the output and the exit code. Streams,
 * signals and the exit of a real process are not covered.
 */
import module from "node:module";
import { fileURLToPath } from "node:url";
import type { VerbCall, VerbOutcome } from "./verbs.ts";

module.enableCompileCache(fileURLToPath(new URL("../../node_modules/.cache/goald", import.meta.url)));
const { main } = await import("../../src/cli.ts");

const said = { stdout: "", stderr: "" };
for (const name of ["stdout", "stderr"] as const)
  process[name].write = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    said[name] += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
    const written = rest.findLast((one) => typeof one === "function") as (() => void) | undefined;
    if (written) process.nextTick(written);
    return true;
  };

process.on("disconnect", () => process.exit());
process.on("message", async ({ args, cwd, env }: VerbCall) => {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  Object.assign(said, { stdout: "", stderr: "" });
  const code = await main(args);
  // Each call adds its own listeners for output errors.
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners("error");
  process.send?.({ ...said, code } satisfies VerbOutcome);
});
