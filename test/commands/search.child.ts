/** Child process of read-files.test.ts with little memory: searches a file of two million matching lines. */
import searchFiles from "../../commands/search_files.ts";
import { MemoryWorkspace } from "../helpers/memory-workspace.ts";
import { call, contextOf } from "./context.ts";

const workspace = new MemoryWorkspace();
await workspace.write("a.txt", "a\n".repeat(2 * 1024 * 1024));
console.log((await call(searchFiles, { directory: "", text: "a", limit: 3 }, contextOf(workspace))).text);
