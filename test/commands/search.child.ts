/** Run by search_files.test.ts with little memory: searches a file of two million lines that all match. Prints the result. */
import searchFiles from "../../commands/search_files.ts";
import { MemoryWorkspace } from "../helpers/memory-workspace.ts";
import { call, contextOf } from "./context.ts";

const workspace = new MemoryWorkspace();
await workspace.write("a.txt", "a\n".repeat(2 * 1024 * 1024));
console.log((await call(searchFiles, { directory: "", text: "a", limit: 3 }, contextOf(workspace))).text);
