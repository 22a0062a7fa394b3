/** Kills a run before and after every commit, and in long chains; kill.test.ts takes one point before a commit and one after. */
import { describe, expect, it } from "@jest/globals";
import { daemonOf } from "../helpers/daemon.ts";
import { endedWith, lookInto, makeGoald } from "../helpers/goald.ts";
import { ledger, ledgerText, numberedModel } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { waitUntil } from "../helpers/wait-until.ts";
import { describeChains } from "./kill-chain.ts";
import { describeKills, killAndResume, RUN, STEPS } from "./kill-points.ts";

describeKills(() => true);
describeChains({ files: 2, kills: 2, lines: 20 });
describeChains({ files: 12, kills: 15, lines: 80 });

describe("kill -9 while `prepare` of an own command hangs", () => {
  it("loses no reply that was paid: the resumed agent goes on with it", async () => {
    await using server = await startOpenAIServer({
      reply: numberedModel([{ name: "hang_once", args: {} }]),
      embeddings: null,
    });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    await goald.write(
      "commands/hang_once.ts",
      `import { existsSync, writeFileSync } from "node:fs";
      const mark = new URL("../begun.txt", import.meta.url);
      export default {
        name: "hang_once", label: "Hang", summary: "Hangs the first time.", args: { type: "object", properties: {} },
        annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false }, effect: "pure",
        async prepare() {
          if (existsSync(mark)) return null;
          writeFileSync(mark, "");
          return new Promise((resolve) => setTimeout(resolve, 50_000));
        },
        async run() { return "It ran."; },
      };`,
    );
    const running = goald.start(RUN);
    await waitUntil("`prepare` runs", async () => (await goald.read("begun.txt")) !== undefined);
    running.kill("SIGKILL");
    await running.ended;
    await daemonOf(goald).kill();
    const before = (await lookInto(goald)).log.map(({ type }) => type);
    expect(before.at(-1)).toBe("command-approved");
    endedWith(0, await goald.run(["resume", "t", "--json"]));
    expect(server.chats).toHaveLength(2);
  });
});

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
