import { describe, expect, it } from "@jest/globals";
import { opensTurn } from "#core/inbox.ts";
import { openSqliteReader } from "#store/sqlite/open-store.ts";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { type Ended, endedWith, jsonOf, lookInto } from "../helpers/goald.ts";
import { ledger, ledgerText, onceATurn } from "../helpers/numbered-model.ts";
import { killUnder } from "../helpers/under-hooks.ts";
import { HOOK } from "./kill-points.ts";

const RUN = ["run", "--name", "T", "-g", "Find strings", "--continuous", "--json"];
const again = (goal: string): readonly string[] => ["run", "--continue", "t", "-g", goal, "--json"];
const reply = onceATurn(ledger(1));
const turnsIn = async ({ goald }: DaemonHome): Promise<readonly number[]> =>
  (await lookInto(goald)).log.flatMap((event) => (event.type === "turn-started" ? [event.turn] : []));
const goalsSet = async ({ goald }: DaemonHome): Promise<readonly string[]> =>
  (await lookInto(goald)).log.flatMap((event) => (event.type === "goals-changed" ? event.goals : []));

describe("the turns of one agent, by real processes", () => {
  it("begin with the run, with new goals, and with words that a daemon delivers", async () => {
    await using home = await makeDaemonHome([], { reply });
    const { goald, server } = home;
    endedWith(0, await goald.run(RUN));
    endedWith(0, await goald.run(again("Write it down")));
    const said = endedWith(0, await goald.run(["say", "t", "Now in German"]));
    expect(said.stdout).toMatch(/^It had finished\. This begins turn 3\. t is (?:running|completed) \(step \d\)\.\n$/);
    await home.logged("turn-finished", 3);
    expect(await turnsIn(home)).toEqual([2, 3]);
    expect((await lookInto(goald)).problems).toEqual([]);
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(1).repeat(3));
    const prompt = server.chats
      .at(-1)
      ?.messages.map(({ content }) => content)
      .join("\n");
    expect(prompt).toContain("Now in German");
  });

  it("begin in the background, and are waited for", async () => {
    await using home = await makeDaemonHome([], { reply });
    const { goald } = home;
    endedWith(0, await goald.run(RUN));
    const started = jsonOf<{ agent: object; note: string }>(await goald.run([...again("Write it down"), "-d"]));
    expect(started).toMatchObject({ agent: { id: "t", background: true }, note: "It begins turn 2." });
    await home.logged("turn-finished", 2);
    const waited = endedWith(0, await goald.run(["run", "--continue", "t", "-g", "Print it", "--wait"]));
    expect(waited.stdout).toMatch(/^t: completed: /);
    expect(await turnsIn(home)).toEqual([2, 3]);
  });

  it("are recorded into one file, which replays", async () => {
    await using home = await makeDaemonHome([], { reply });
    const { goald } = home;
    const record = ["--record", "t.ndjson"];
    endedWith(0, await goald.run([...RUN, ...record]));
    endedWith(0, await goald.run([...again("Write it down"), ...record]));
    const played = `${goald.cwd}/played`;
    endedWith(0, await goald.run(["replay", "t.ndjson", "--json", "--home", played]));
    const types = ({ log }: Awaited<ReturnType<typeof lookInto>>): readonly string[] => log.map(({ type }) => type);
    expect(types(await lookInto({ home: played }))).toEqual(types(await lookInto(goald)));
    expect(types(await lookInto(goald)).filter((type) => type === "turn-finished")).toHaveLength(2);
  });

  it("lose nothing and begin once when the process is killed at any commit before the first step", async () => {
    await using home = await makeDaemonHome([], { reply });
    const { goald } = home;
    endedWith(0, await goald.run(RUN));
    const seen = new Set<string>();
    let turn = 1;
    for (const at of [1, 2, 3, 4])
      for (const when of ["before", "after"]) {
        turn += 1;
        const goal = `Goal of turn ${turn}`;
        const killed = await killUnder(
          { imports: [HOOK], env: { KILL_AT_COMMIT: `${at}:${when}` } },
          goald,
          again(goal),
        );
        expect(killed).toMatchObject({ code: null, signal: "SIGKILL" });
        const standing = await standingOf(home, turn);
        seen.add(standing);
        endedWith(0, await goOn(home, standing, goal));
        expect([await turnsIn(home), await goalsSet(home)]).toEqual([
          upTo(turn),
          upTo(turn).map((each) => `Goal of turn ${each}`),
        ]);
      }
    // The points cover a kill before the delivery, one between the delivery and the turn, and one inside the turn.
    expect([...seen].sort()).toEqual(["begun", "delivered", "nothing"]);
    expect((await lookInto(goald)).problems).toEqual([]);
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(1).repeat(turn));
  });
});

const upTo = (turn: number): readonly number[] => Array.from({ length: turn - 1 }, (_none, at) => at + 2);

async function standingOf(home: DaemonHome, turn: number): Promise<"nothing" | "delivered" | "begun"> {
  if ((await turnsIn(home)).includes(turn)) return "begun";
  const reader = await openSqliteReader(`${home.goald.home}/.goald/goald.db`);
  try {
    return (await reader.inbox("t")).some(({ message }) => opensTurn(message)) ? "delivered" : "nothing";
  } finally {
    await reader.close();
  }
}

/** A turn whose goals are stored goes on without giving them again. */
const goOn = ({ goald }: DaemonHome, standing: string, goal: string): Promise<Ended> =>
  goald.run(standing === "nothing" ? again(goal) : ["resume", "t", "--json"]);
