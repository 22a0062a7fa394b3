import { describe, expect, it } from "@jest/globals";
import { endedWith, jsonOf, makeGoald } from "../helpers/goald.ts";
import { writeLongLog } from "../helpers/long-log.ts";
import { problemsOfView } from "../helpers/view-schemas.ts";

describe("an agent of two thousand steps", () => {
  it("has its report, any step and the reason for its file as fast as one of two steps", async () => {
    await using goald = await makeGoald();
    await writeLongLog(goald.home, 2_000);
    const facts = jsonOf(await goald.ask(["show", "long", "--report", "--json"]));
    expect(problemsOfView("report", facts)).toBe("");
    expect(facts).toMatchObject({ events: 10_001, since: 9_501, step: 2_000 });
    expect(endedWith(0, await goald.ask(["show", "long", "--report"])).stdout.length).toBeLessThan(64 * 1024);
    expect(jsonOf(await goald.ask(["show", "long", "--step", "1999", "--json"]))).toMatchObject({
      step: 1999,
      thought: "thought 1999",
      prompt: { exact: false },
    });
    const why = jsonOf<{ versions: { step: number }[] }>(await goald.ask(["why", "long/out.md", "--json"]));
    expect(problemsOfView("why", why)).toBe("");
    expect(why.versions.map(({ step }) => step)).toEqual(Array.from({ length: 200 }, (_, at) => (at + 1) * 10));
    expect(endedWith(0, await goald.ask(["diff", "long"])).stdout).toContain("+line of step 2000\n");
    expect(endedWith(0, await goald.ask(["verify"])).stdout).toBe("1 agent, 10001 events: sound.\n");
  });
});
