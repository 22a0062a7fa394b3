import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "@jest/globals";
import { daemonOf } from "../helpers/daemon.ts";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, errorOf, jsonOf } from "../helpers/goald.ts";
import { ledger, ledgerText } from "../helpers/numbered-model.ts";

const agent = (name: string, goal: string): readonly string[] => [
  ...["run", "-d", "--approve", "never", "--name", name],
  ...["--role", "r", "--goal", goal],
];

describe("one changed character in a log", () => {
  it("is never sent: its agent does not run, `ps` and `show` report it, and the other agent finishes", async () => {
    await using home = await makeDaemonHome(ledger(3));
    const { goald, server } = home;
    await using daemon = daemonOf(goald);
    home.holdFrom(1);
    endedWith(0, await goald.run(agent("Payer", "Send 100 to Alice")));
    endedWith(0, await goald.run(agent("Other", "g")));
    await home.asked(2);
    await daemon.kill();
    const database = new DatabaseSync(join(goald.home, ".goald", "goald.db"));
    database.exec("UPDATE event SET data = replace(data, 'Send 100', 'Send 900') WHERE seq = 1");
    database.close();
    const before = server.chats.length;
    home.release();

    // `ps` revives the daemon.
    endedWith(1, await goald.run(["ps"]));
    await home.until(async () => (await goald.read("workspace/other/ledger.txt")) === ledgerText(3), "the other's end");
    await home.logged("turn-finished", 1, "other");
    const sent = server.chats.slice(before).map(({ messages }) => JSON.stringify(messages));
    expect(sent.filter((text) => text.includes("to Alice"))).toEqual([]);
    expect(sent.length).toBeGreaterThan(0);

    const shown = endedWith(1, await goald.run(["ps"])).stdout;
    expect(shown).toMatch(/^payer +Payer +damaged /m);
    expect(shown).toMatch(/^other +Other +completed /m);
    expect(endedWith(1, await goald.run(["show", "payer"])).stderr).toContain("expected event 1 as written");
    const resumed = endedWith(1, await goald.run(["resume", "payer", "--json"]));
    expect(errorOf({ stderr: resumed.stderr.trim().split("\n").at(-1) ?? "" })).toMatchObject({
      code: "GOALD_STORE_DAMAGED",
      message: expect.stringContaining("goald verify payer"),
    });
    expect(endedWith(1, await goald.run(["verify", "payer"])).stdout).toContain("event 1 of payer");
    expect(jsonOf(await goald.run(["verify", "other", "--json"]))).toMatchObject({ problems: [] });
    expect(server.chats.filter(({ messages }) => JSON.stringify(messages).includes("Send 900"))).toEqual([]);
  });
});
