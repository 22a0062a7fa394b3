import { describe, it } from "@jest/globals";
import fc from "fast-check";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { useAnchor } from "#workspace/resolve-path.ts";
import { workspaceContract } from "../contracts/workspace.ts";
import { useFolder } from "../helpers/folder.ts";
import { acts, liveThrough } from "../helpers/restored-agent.ts";

const at = useFolder();

workspaceContract("a local folder held by real-path", async () => {
  useAnchor("real-path");
  return {
    open: (onChange, own = false, lastVersion = undefined) =>
      openLocalWorkspace(at("workspace", "foo"), onChange, {
        ...{ own, staging: at("clones") },
        ...(lastVersion ? { lastVersion } : {}),
      }),
    close: async () => useAnchor("descriptor"),
  };
});

describe("many random steps, edits, clones and restorations", () => {
  it("lead to the files as they were after the step, touch no clone that stands there, and lose no edit", () =>
    fc.assert(fc.asyncProperty(acts, liveThrough), { seed: 24, numRuns: 500 }));
});
