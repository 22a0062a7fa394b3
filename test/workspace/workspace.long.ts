import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { workspaceContract } from "../contracts/workspace.ts";
import { useFolder } from "../helpers/folder.ts";

const at = useFolder();

workspaceContract("a local folder held by real-path", async () => ({
  open: (onChange, own = false, lastVersion = undefined) =>
    openLocalWorkspace(at("workspace", "foo"), onChange, {
      ...{ own, anchor: "real-path", staging: at("clones") },
      ...(lastVersion ? { lastVersion } : {}),
    }),
  close: async () => undefined,
}));
