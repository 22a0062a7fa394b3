import { describe, expect, it } from "@jest/globals";
import { ledger, ledgerText } from "../helpers/numbered-model.ts";
import { describeChains } from "./kill-chain.ts";
import { describeKills, killAndResume, STEPS } from "./kill-points.ts";

// This takes every eleventh point, alternately before and after commits; kill.long.ts takes all.
describeKills((index) => index % 11 === 4);
describeChains({ files: 3, kills: 4, lines: 40 });

describe("a command that wrongly calls itself idempotent", () => {
  it("visibly acts twice, so the count of effects can fail (control)", async () => {
    const calls = ledger(STEPS);
    // The command adds a line at each run.
    const careless = `export default {
      name: "append_to_file", label: "Append", summary: "Adds text.", effect: "idempotent",
      args: { type: "object", required: ["file", "text"], properties: {
        file: { type: "string", description: "path" }, text: { type: "string", description: "text" } } },
      annotations: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
      async run({ file, text }, { workspace }) {
        await workspace.append(file, text);
        return { status: "ok", text: "Added.", source: "goald", artifacts: [file] };
      },
    };`;
    const outcome = await killAndResume(calls, ["ledger.txt"], [6, "before"], {
      "commands/append_to_file.ts": careless,
    });
    expect(outcome.files["ledger.txt"]).toBe(`line 1\n${ledgerText(STEPS)}`);
  });
});
