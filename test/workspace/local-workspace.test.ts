import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OpenWorkspace } from "#core/ports/workspace.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { workspaceContract } from "../contracts/workspace.ts";
import { type Files, MemoryWorkspace } from "../helpers/memory-workspace.ts";

const asPort: OpenWorkspace = openLocalWorkspace;

// local-workspace.long.ts has a folder held by its real path.
workspaceContract("a local folder held by descriptor", async () => {
  const home = await mkdtemp(join(tmpdir(), "goald-workspace-"));
  const folder = join(home, "workspace", "foo");
  return {
    open: (onChange, own = false, lastVersion = undefined) => {
      const options = { staging: join(home, "clones"), ...(lastVersion ? { lastVersion } : {}) };
      // The default is the best anchor.
      return own
        ? openLocalWorkspace(folder, onChange, { own, anchor: "descriptor", ...options })
        : asPort(folder, onChange, options);
    },
    close: () => rm(home, { recursive: true }),
  };
});

workspaceContract("the fake", async () => {
  const files: Files = new Map();
  return {
    open: (onChange, own = false, lastVersion = undefined) =>
      new MemoryWorkspace({ files, own, onChange, lastVersion }),
    close: async () => undefined,
  };
});
