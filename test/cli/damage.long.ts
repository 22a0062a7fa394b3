import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "@jest/globals";
import { daemonOf } from "../helpers/daemon.ts";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, errorOf, jsonOf, lookInto } from "../helpers/goald.ts";
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
    endedWith(0, await goald.ask(agent("Payer", "Send 100 to Alice")));
    endedWith(0, await goald.ask(agent("Other", "g")));
    await home.asked(2);
    await daemon.kill();
    const database = new DatabaseSync(join(goald.home, ".goald", "goald.db"));
    database.exec("UPDATE event SET data = replace(data, 'Send 100', 'Send 900') WHERE seq = 1");
    database.close();
    const before = server.chats.length;
    home.release();

    // `ps` revives the daemon.
    endedWith(1, await goald.ask(["ps"]));
    await home.until(async () => (await goald.read("workspace/other/ledger.txt")) === ledgerText(3), "the other's end");
    await home.logged("turn-finished", 1, "other");
    const sent = server.chats.slice(before).map(({ messages }) => JSON.stringify(messages));
    expect(sent.filter((text) => text.includes("to Alice"))).toEqual([]);
    expect(sent.length).toBeGreaterThan(0);

    const shown = endedWith(1, await goald.ask(["ps"])).stdout;
    expect(shown).toMatch(/^payer +Payer +damaged /m);
    expect(shown).toMatch(/^other +Other +completed /m);
    expect(endedWith(1, await goald.ask(["show", "payer"])).stderr).toContain("expected event 1 as written");
    const resumed = endedWith(1, await goald.ask(["resume", "payer", "--json"]));
    expect(errorOf({ stderr: resumed.stderr.trim().split("\n").at(-1) ?? "" })).toMatchObject({
      code: "GOALD_STORE_DAMAGED",
      message: expect.stringContaining("goald verify payer"),
    });
    expect(endedWith(1, await goald.ask(["verify", "payer"])).stdout).toContain("event 1 of payer");
    expect(jsonOf(await goald.ask(["verify", "other", "--json"]))).toMatchObject({ problems: [] });
    expect(server.chats.filter(({ messages }) => JSON.stringify(messages).includes("Send 900"))).toEqual([]);
  });
});

describe("one flipped bit in the WAL of a killed daemon", () => {
  it("stops every agent with the missing events, until a person accepts the loss", async () => {
    await using home = await makeDaemonHome(ledger(3));
    const { goald, server } = home;
    await using daemon = daemonOf(goald);
    home.holdFrom(3);
    endedWith(0, await goald.ask(agent("T", "g")));
    await home.asked(3);
    await daemon.kill();
    const wal = join(goald.home, ".goald", "goald.db-wal");
    const bytes = await readFile(wal);
    const last = bytes.length - 4_000;
    bytes[last] = (bytes[last] ?? 0) ^ 4;
    await writeFile(wal, bytes);
    home.release();
    const before = server.chats.length;

    const missing = /has lost commits that goald had confirmed.*vents? \d+ .*of t (?:is|are) missing.*--accept-loss/;
    expect(endedWith(0, await goald.ask(["ps"])).stderr).toMatch(missing);
    expect(endedWith(1, await goald.ask(["resume", "t"])).stderr).toMatch(missing);
    expect(endedWith(1, await goald.ask(["verify"])).stdout).toMatch(/vents? \d+ .*of t (?:is|are) missing/);
    expect(server.chats.length).toBe(before);

    const accepted = endedWith(0, await goald.ask(["verify", "--accept-loss"]));
    expect(accepted.stdout).toMatch(/^Accepted: Events? \d+ .*of t /);
    endedWith(0, await goald.ask(["up"]));
    await home.logged("turn-finished");
  });
});

describe("goald backup", () => {
  it("copies the store while the daemon's agent works, and what it prints restores it", async () => {
    await using home = await makeDaemonHome(ledger(4));
    const { goald } = home;
    await using daemon = daemonOf(goald);
    home.holdFrom(3);
    endedWith(0, await goald.ask(agent("T", "g")));
    await home.asked(3);
    const file = join(goald.cwd, "copy.db");
    const { stdout } = endedWith(0, await goald.ask(["backup", "copy.db"]));
    expect(stdout).toMatch(/^Wrote .*copy\.db: 1 agent, \d+ events, \d+ bytes, verified\.\n/);
    endedWith(7, await goald.ask(["backup", "copy.db"]));
    expect(jsonOf(await goald.ask(["backup", "copy.db", "--force", "--json"]))).toMatchObject({ file, agents: 1 });
    home.release();
    await home.logged("turn-finished");
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(4));

    const restore = /^Restore it: (.*)$/m.exec(stdout)?.[1] ?? "";
    const script = restore.replaceAll(/\bgoald (down|verify)\b/g, '"$@" $1');
    const verified = endedWith(0, await goald.run([], { shell: script }));
    expect(verified.stdout).toMatch(/1 agent, \d+ events: sound\.\n$/);
    expect((await lookInto(goald)).log.at(-1)?.type).toBe("model-asked");
    expect(daemon.isHeld()).toBe(false);
    // The restored agent continues.
    endedWith(0, await goald.ask(["up"]));
    await home.logged("turn-finished");
  });
});
