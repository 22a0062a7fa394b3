import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OpenWorkspace } from "#core/ports/workspace.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import type { Anchor } from "#workspace/resolve-path.ts";
import { workspaceContract } from "../contracts/workspace.ts";
import { type Files, MemoryWorkspace } from "../helpers/memory-workspace.ts";

const asPort: OpenWorkspace = openLocalWorkspace;

for (const anchor of ["descriptor", "real-path"] satisfies Anchor[])
  workspaceContract(`a local folder held by ${anchor}`, async () => {
    const home = await mkdtemp(join(tmpdir(), "goald-workspace-"));
    const folder = join(home, "workspace", "foo");
    return {
      open: (onChange, own = false, lastVersion = undefined) => {
        const options = { staging: join(home, "clones"), ...(lastVersion ? { lastVersion } : {}) };
        // The default is the best anchor; the other one is requested.
        if (anchor === "descriptor" && !own) return asPort(folder, onChange, options);
        return openLocalWorkspace(folder, onChange, { own, anchor, ...options });
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
