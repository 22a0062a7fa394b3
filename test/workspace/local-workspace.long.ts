import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { workspaceContract } from "../contracts/workspace.ts";

workspaceContract("a local folder held by real-path", async () => {
  const home = await mkdtemp(join(tmpdir(), "goald-workspace-"));
  const folder = join(home, "workspace", "foo");
  return {
    open: (onChange, own = false, lastVersion = undefined) =>
      openLocalWorkspace(folder, onChange, {
        ...{ own, anchor: "real-path", staging: join(home, "clones") },
        ...(lastVersion ? { lastVersion } : {}),
      }),
    close: () => rm(home, { recursive: true }),
  };
});
