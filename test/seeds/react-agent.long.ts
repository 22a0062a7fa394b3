/** The rows of seed 001, ReAct REPL, each with the real program, the real sandbox and a model that knows only its prompt. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { action, type Line, type Seen, thoughtOf } from "../helpers/conditional-model.ts";
import { startReactServices, writeReactMethods } from "../helpers/react-methods/methods.ts";
import { makeSeedHome, type SeedHome } from "../helpers/seed-home.ts";
import { killUnder } from "../helpers/under-hooks.ts";

const HOOK = fileURLToPath(new URL("../helpers/kill-at-event.child.ts", import.meta.url));
const SEARCH = 'method_search("Write a file")';

/** Each action at its thought. Then the end. */
const inTurn = (...actions: readonly string[]): readonly Line[] => [
  ...actions.map(
    (code, index): Line => ({ when: (seen) => thoughtOf(seen) === index + 1, say: (seen) => action(seen, code) }),
  ),
  { when: (seen) => thoughtOf(seen) === actions.length + 1, say: (seen) => action(seen, "stop()") },
];
/** The observation after an action, by its number. */
function observationOf(home: SeedHome, number: number): string {
  const { messages = [] } = home.seen.find((seen) => thoughtOf(seen) === number + 1) ?? {};
  const all = messages.map(({ content }) => content).join("\n");
  const [, after = ""] = all.split(`OBSERVATION ${number}:`);
  return after.split(`THOUGHT ${number + 1}:`)[0] ?? "";
}
const at = (home: SeedHome, thought: number): Seen | undefined => home.seen.find((seen) => thoughtOf(seen) === thought);

describe("ReAct REPL", () => {
  it("R1: TASK, THOUGHT, ACTION and OBSERVATION have running numbers, and the model cannot invent an observation", async () => {
    await using home = await makeSeedHome(inTurn(SEARCH, "print(6 * 1234567)"));
    await home.run("react", { goal: "Compute six times seven." });
    const third = at(home, 3)?.all ?? "";
    expect(third).toMatch(/TASK:[\s\S]*Compute six times seven/);
    const places = [
      "THOUGHT 1",
      "ACTION 1",
      "OBSERVATION 1",
      "THOUGHT 2",
      "ACTION 2",
      "OBSERVATION 2",
      "THOUGHT 3",
    ].map((word) => third.lastIndexOf(`${word}:`));
    expect(places.every((place) => place >= 0)).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(observationOf(home, 2)).toContain("7407402");
    for (const { request } of home.seen) expect(JSON.stringify(request)).toMatch(/"stop":[^}]*OBSERVATION/);
  });

  it("R2: a search shows the methods that fit, best first, and the prompt holds no other one", async () => {
    await using services = await startReactServices();
    await using home = await makeSeedHome(inTurn('method_search("Send a Discord message")', "print('read')"));
    await writeReactMethods(join(home.goald.home, "commands"), services.origin);
    await home.run("react");
    const shown = observationOf(home, 1);
    const found = [...shown.matchAll(/`(\w+)\([^`]*`: /g)].map(([, name]) => name);
    const expected = ["send_message_discord", "send_slack_message", "send_slack_image"];
    expect(found.slice(0, 3)).toEqual(expected);
    for (const name of ["get_current_weather", "shrink_image", "get_stock_prices"]) {
      expect(home.seen.map(({ all }) => all).join("\n")).not.toContain(name);
    }
    // Control: before the search the prompt has none of them.
    for (const name of expected) expect(home.seen[0]?.all).not.toContain(name);
  });

  it("R3: the first action has to be a search", async () => {
    await using home = await makeSeedHome(inTurn("print('I know better')", SEARCH));
    await home.run("react");
    expect(observationOf(home, 1)).toContain("method_search");
    // Control: a run that begins with a search reads no such hint.
    await using other = await makeSeedHome(inTurn(SEARCH, "print('now')"));
    await other.run("react");
    expect(observationOf(other, 2)).not.toContain("method_search");
  });

  it("R4: each thought begins with what was observed", async () => {
    await using home = await makeSeedHome(inTurn(SEARCH));
    await home.run("react");
    expect(at(home, 2)?.last).toMatch(/THOUGHT 2:\nBased on previous observations,$/);
  });

  it("R5: actions share a namespace, also after kill -9", async () => {
    await using home = await makeSeedHome(inTurn(SEARCH, "picture = 'nasa.png'\nprint(picture)", "print(picture * 2)"));
    await home.run("react", { flags: ["--max-steps", "2"], code: 6 });
    const { length } = await home.log();
    const again = ["resume", "t", "--json", "--max-steps", "10"];
    const killed = await killUnder(
      { imports: [HOOK], env: { KILL_AT_EVENT: `1:${length + 4}:after` } },
      home.goald,
      again,
    );
    expect(killed.signal).toBe("SIGKILL");
    expect((await home.goald.run(again)).code).toBe(0);
    expect(observationOf(home, 3)).toContain("nasa.pngnasa.png");
  });

  it("R6: an observation is what was printed; without any, it says to print", async () => {
    await using home = await makeSeedHome(inTurn(SEARCH, "total = 6 * 1234567", "print(total)"));
    await home.run("react");
    expect(observationOf(home, 2)).toContain("Nothing was printed");
    expect(observationOf(home, 2)).not.toContain("7407402");
    expect(observationOf(home, 3)).toContain("7407402");
  });

  it("R7: an error shows the failing line of the action and a hint, and no path of the machine", async () => {
    await using home = await makeSeedHome(inTurn(SEARCH, "first = 1\nsecond = first + 'x'\nthird = 3"));
    await home.run("react");
    const shown = observationOf(home, 2);
    expect(shown).toContain("second = first + 'x'");
    expect(shown).toContain("TypeError");
    expect(shown).toContain("method_search");
    expect(shown).not.toMatch(/third = 3|first = 1|Traceback|\/(?:home|root|tmp|work|usr)\//);
  });

  it("R8: importing is refused with a hint, by any road", async () => {
    const roads = [
      "import os",
      "from os import path",
      "__import__('os')",
      "import importlib\nimportlib.import_module('os')",
    ];
    await using home = await makeSeedHome([
      ...inTurn(SEARCH, roads[0] ?? "", roads[1] ?? "", "print('between')", roads[2] ?? "", roads[3] ?? ""),
    ]);
    await home.run("react");
    for (const number of [2, 3, 5, 6]) expect(observationOf(home, number)).toMatch(/import/i);
    // Control: the form code may import what stays inside.
    await using other = await makeSeedHome([
      { when: ({ own }) => own.length === 0, say: "I count.\n```python\nimport math\nmath.floor(7407402.5) - 1\n```" },
      { say: "All is done." },
    ]);
    await other.run("code");
    expect(other.seen.at(-1)?.all).toContain("7407401");
  });

  it("R9: two calls in one action get a remark, one gets none", async () => {
    const two = "a = list_agents()\nb = list_agents()\nprint(a, b)";
    await using home = await makeSeedHome(inTurn(SEARCH, two, "c = list_agents()\nprint(c)"));
    await home.run("react");
    expect(observationOf(home, 2)).toMatch(/called 2 methods/);
    expect(observationOf(home, 3)).not.toMatch(/called 2 methods/);
  });

  it("R10: a value that nobody has seen gets a remark, a seen one gets none", async () => {
    await using home = await makeSeedHome(
      inTurn(SEARCH, "print(write_to_file('place.txt', str(48.8566)))", "print(write_to_file('place.txt', 'Paris'))"),
    );
    await home.run("react", { goal: "Write Paris into the file place.txt." });
    expect(observationOf(home, 2)).toMatch(/48\.8566/);
    expect(observationOf(home, 2)).toMatch(/word for word/i);
    expect(observationOf(home, 3)).not.toMatch(/word for word/i);
  });

  it("R11: a method that does not exist is answered with what a search finds for it", async () => {
    await using home = await makeSeedHome(inTurn(SEARCH, "write_into_file('a.txt', 'a')"));
    await home.run("react");
    expect(observationOf(home, 2)).toMatch(/write_to_file\(/);
  });

  it("R12: stop() ends the run, and does not in an action that fails", async () => {
    await using home = await makeSeedHome(inTurn(SEARCH, "total = 1 / 0\nstop()", "print('still here')"));
    await home.run("react");
    expect(home.seen).toHaveLength(4);
    const types = (await home.log()).map(({ type }) => type);
    expect(types.filter((type) => type === "turn-finished")).toHaveLength(1);
  });

  it("R13: the same action again and again gets notices, and then pauses the agent", async () => {
    await using home = await makeSeedHome([
      { when: (seen) => thoughtOf(seen) === 1, say: (seen) => action(seen, SEARCH) },
      { say: (seen) => action(seen, "print('again')") },
    ]);
    const ended = await home.run("react", { code: 10 });
    expect(ended.stdout).toContain('"loop"');
    expect(home.seen.length).toBeLessThan(15);
  });
});
