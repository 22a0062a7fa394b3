import { describe, expect, it } from "@jest/globals";
import { daemonOf } from "../helpers/daemon.ts";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, jsonOf, lookInto } from "../helpers/goald.ts";
import { replyWith } from "../helpers/numbered-model.ts";

const HANG = `export default {
  name: "hang",
  summary: "Never return",
  args: { type: "object", properties: {}, additionalProperties: false },
  annotations: { readOnly: false, openWorld: false, destructive: false },
  timeoutMs: 1_000,
  run: async () => { for (;;) {} },
};`;
const agent = (name: string): readonly string[] => [
  ...["run", "-d", "--approve", "never", "--name", name],
  ...["--role", "r", "--goal", "g"],
];

describe("a daemon that hangs in an own command", () => {
  it("is named by ps, which lists the agents, and refuses a new agent whole; down --kill ends it", async () => {
    await using home = await makeDaemonHome([], { reply: () => replyWith({ name: "hang", args: {} }) });
    const { goald } = home;
    await using daemon = daemonOf(goald);
    await goald.write("commands/hang.ts", HANG);
    endedWith(0, await goald.ask(["up"]));
    expect(endedWith(0, await goald.ask(["ps"])).stderr).toBe("");
    endedWith(0, await goald.ask(agent("T")));
    await home.logged("command-started");
    const pid = daemon.pid();
    const silence = `The daemon (pid ${pid}) takes no calls: `;

    const listed = endedWith(0, await goald.ask(["ps"]));
    expect(listed.stdout).toMatch(/^t +T +running /m);
    expect(listed.stderr).toMatch(/ did not answer within 2 s\. If it hangs: goald down --kill, then goald up\n$/);
    expect(listed.stderr).toContain(silence);
    const json = await goald.ask(["ps", "--json"]);
    expect(jsonOf(json)).toEqual({ agents: [expect.objectContaining({ id: "t", state: "running" })] });
    expect(json.stderr).toContain(silence);
    expect(endedWith(4, await goald.ask(["status"])).stdout).toContain(silence);
    expect(JSON.parse(endedWith(4, await goald.ask(["status", "--json"])).stdout)).toMatchObject({
      ...{ running: true, answers: false, host: { pid } },
    });

    const refused = endedWith(4, await goald.ask(agent("Other")));
    expect(refused.stderr).toContain(silence);
    expect(refused.stderr).toContain("goald down --kill");
    expect(refused.stdout).toBe("");
    expect((await lookInto(goald, "other")).log).toEqual([]);

    endedWith(0, await goald.ask(["down", "--kill"]));
    const after = endedWith(0, await goald.ask(["ps"]));
    expect(after.stdout).toMatch(/^t +T +interrupted /m);
    expect(after.stdout).not.toContain("Other");
    expect(after.stderr).toBe("");
  });
});
