import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FileChange, OpenWorkspace } from "#core/ports.ts";
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
      open: (onChange, own = false) =>
        own ? openLocalWorkspace(folder, onChange, { own, anchor }) : withAnchor(folder, onChange, anchor),
      close: () => rm(home, { recursive: true }),
    };
  });

workspaceContract("the fake", async () => {
  const files: Files = new Map();
  return {
    open: (onChange, own = false) => new MemoryWorkspace({ files, own, onChange }),
    close: async () => undefined,
  };
});

/** The default is what the port promises; the other way is asked for. */
const withAnchor = (folder: string, onChange: ((change: FileChange) => void) | undefined, anchor: Anchor) =>
  anchor === "descriptor" ? asPort(folder, onChange) : openLocalWorkspace(folder, onChange, { anchor });
