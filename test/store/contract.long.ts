/** The contract of stores on the store for many agents, in the calling thread and in one of its own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "@jest/globals";
import { openGroupStore } from "#store/group-store.ts";
import { storeContract } from "../contracts/store.ts";

const folder = mkdtempSync(join(tmpdir(), "goald-store-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let stores = 0;
// Each test starts a thread of its own, which compiles for itself.
process.env.NODE_COMPILE_CACHE = join(folder, "compile-cache");

storeContract("the store for many agents", () => openGroupStore(join(folder, `${++stores}`, "goald.db")));
storeContract("the store for many agents, in its thread", () =>
  openGroupStore(join(folder, `${++stores}`, "goald.db"), { thread: "always" }),
);
