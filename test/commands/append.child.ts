/**
 * Child process of the tests of append_to_file: makes one call like the daemon, prints its position and waits for a kill.
 */
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import appendToFile from "../../commands/append_to_file.ts";
import { contextOf } from "./context.ts";

const [folder = "", point = "", bytes = "0"] = process.argv.slice(2);
const args = { file: "log.txt", text: "x".repeat(Number(bytes)) };
const context = contextOf(openLocalWorkspace(folder));

const prepared = await appendToFile.prepare?.(args, context);
console.log(JSON.stringify(prepared));
await reached("prepared");
if (point === "running") console.log("at running");
await appendToFile.run(args, context, prepared);
await reached("ran");

async function reached(here: string): Promise<void> {
  if (here !== point) return;
  console.log(`at ${here}`);
  await new Promise((resolve) => setTimeout(resolve, 60_000));
}
