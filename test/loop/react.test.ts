import { afterEach, describe, expect, it } from "@jest/globals";
import { readPythonFunctions } from "#commands/python-modules.ts";
import { succeed } from "#core/command.ts";
import { isFinished } from "#core/state.ts";
import { type CellBehaviour, cellValue, failedCell } from "../helpers/fake-sandbox.ts";
import { closeProseLoops, makeProseLoop, python, testCommand, textArgs } from "../helpers/loop.ts";

afterEach(closeProseLoops);

const search = testCommand(
  "method_search",
  async (_args, { stage }) => {
    stage({ kind: "methods-found", names: ["get_weather"] });
    return succeed("`get_weather(latitude: float, longitude: float) -> str`: Weather at a place.");
  },
  { args: textArgs("description"), effect: "pure" },
);
const PLACE_ARGS = {
  latitude: { type: "number" },
  longitude: { type: "number" },
  station: { type: "string" },
} as const;
const weather = testCommand<{ latitude: number; longitude: number }>(
  "get_weather",
  async ({ latitude, longitude }) => succeed(`Rain at ${latitude}, ${longitude}.`),
  {
    effect: "pure",
    listed: false,
    args: { type: "object", properties: PLACE_ARGS, required: ["latitude", "longitude"] },
  },
);
const commands = [search, weather];
const GOALS = ["Print the weather at 59.9139, 10.7522"];

const SEARCH = 'method_search("weather at a place")';
const searching: CellBehaviour = async (_cell, _host, { call, print }) =>
  print(String(await call("method_search", { description: "weather at a place" })));
const forecast =
  (latitude: number, longitude: number): CellBehaviour =>
  async (_cell, _host, { call, print }) =>
    print(String(await call("get_weather", { latitude, longitude })));
const stop: CellBehaviour = () => ({ stop: {} });
const act = (thought: string, code: string): string => `${thought}\n\nACTION:\n${python(code)}`;

const USE = "print(get_weather(59.9139, 10.7522))";
const CELLS = { [SEARCH]: searching, [USE]: forecast(59.9139, 10.7522), "stop()": stop };

const make = (replies: readonly string[], cells: Readonly<Record<string, CellBehaviour>> = {}, goals = GOALS) =>
  makeProseLoop("react", replies, { ...CELLS, ...cells }, { commands, goals });

/** Runs an agent that searches, then acts with this code, and ends. */
async function observe(code: string, cell: CellBehaviour, goals = GOALS) {
  const replies = [act("Search.", SEARCH), act("Use it.", code), act("Done.", "stop()")];
  const made = await make(replies, { [code]: cell }, goals);
  expect(isFinished(await made.loop.run())).toBe(true);
  return made;
}

describe("an agent in the form react", () => {
  it("searches, acts and stops, in a dialog whose numbers go on", async () => {
    const { loop, server, request } = await make([
      act("I look for a method.", SEARCH),
      act("`get_weather` does it.", USE),
      act("The weather is printed.", "stop()"),
    ]);
    const state = await loop.run();
    expect(isFinished(state)).toBe(true);
    expect(server.violations).toEqual([]);
    expect(server.chats.map(({ stop }) => stop)).toEqual(Array(3).fill(["\nOBSERVATION"]));
    expect(request(1).at(-1)).toMatch(/must be a call of `method_search`[\s\S]*THOUGHT 1:$/);
    expect(request(2).at(-1)).toMatch(/THOUGHT 2:\nBased on previous observations,$/);
    expect(request(3).slice(2, -1)).toEqual([
      `THOUGHT 1:\nI look for a method.\n\nACTION 1:\n${python(SEARCH)}`,
      expect.stringMatching(/^OBSERVATION 1:\n[\s\S]*get_weather\(latitude/),
      `THOUGHT 2:\nBased on previous observations, \`get_weather\` does it.\n\nACTION 2:\n${python(USE)}`,
      expect.stringMatching(/^OBSERVATION 2:\n[\s\S]*Rain at 59\.9139/),
    ]);
    // The log has the model's own words.
    expect((await loop.of("model-replied"))[0]).toMatchObject({ text: act("I look for a method.", SEARCH) });
    // No remark, since everything was as it should be.
    expect(request(3).join()).not.toContain("Remark");
    const [completed] = await loop.of("turn-finished");
    expect(completed).toMatchObject({ reason: "The weather is printed." });
  });

  it("hears that the first action must be a search, once, and what it did stays", async () => {
    const { loop, lastResult } = await make([act("I know it.", USE), act("Again.", USE), act("Done.", "stop()")]);
    await loop.run();
    expect(lastResult(2)).toMatch(/Rain at 59\.9139[\s\S]*Remark: the first action must be a search\./);
    expect(lastResult(3)).not.toContain("must be a search");
  });

  it("hears that nothing was printed", async () => {
    const { request, lastResult } = await observe("x = 1", () => undefined);
    expect(lastResult(3)).toMatch(/\n<data-\w+>\nNothing was printed\. Use print\(name\)/);
    expect(request(2).at(-2)).not.toContain("Nothing was printed");
  });

  it("sees the line that failed and a hint, and goes on", async () => {
    const bad = "a = 1\nprint(b[2])";
    const problem = { type: "IndexError", message: "list index out of range", line: 2, source: "print(b[2])" };
    const { lastResult } = await observe(bad, () => failedCell(problem));
    expect(lastResult(3)).toMatch(
      /^OBSERVATION 2:[\s\S]*IndexError: list index out of range\nLine 2: print\(b\[2\]\)\n[\s\S]*method_search\(/,
    );
    expect(lastResult(3)).not.toMatch(/Traceback|\.ts|node_modules/);
  });

  it("sees what a search finds for a name that does not exist", async () => {
    const bad = "weather_for_place(1, 2)";
    const problem = { type: "NameError", message: "name 'weather_for_place' is not defined", source: bad };
    const called = await observe(bad, () => failedCell({ ...problem, missingName: "weather_for_place" }));
    expect(called.lastResult(3)).toMatch(/Line 1: [\s\S]*`get_weather\(latitude/);
    expect((await observe(bad, () => failedCell(problem))).lastResult(3)).not.toContain("`get_weather(");
  });

  it("does not end with a stop() in an action that fails", async () => {
    const bad = "stop()\n1 / 0";
    const { loop, server } = await make([act("Search.", SEARCH), act("End.", bad), act("End.", "stop()")], {
      [bad]: () => failedCell({ type: "ZeroDivisionError" }),
    });
    expect(isFinished(await loop.run())).toBe(true);
    expect(server.chats).toHaveLength(3);
  });

  it("hears that an action called two methods, and that only the first of two actions was run", async () => {
    const both = `${USE}\n${USE}`;
    const { loop, lastResult } = await make(
      [
        act("Search.", SEARCH),
        act("Both.", both),
        `${act("Two.", USE)}\n${act("Three.", SEARCH)}`,
        act("D.", "stop()"),
      ],
      { [both]: forecast(59.9139, 10.7522) },
    );
    await loop.run();
    expect(lastResult(3)).toMatch(/Remark: this action called 2 methods \(get_weather\)/);
    expect(lastResult(4)).toMatch(/Rain[\s\S]*Remark: the reply had 2 actions, and only the first was run\./);
    expect(lastResult(4)).not.toContain("called 2 methods");
  });

  describe("that passes values", () => {
    const used = async (code: string, goals = GOALS) =>
      (await observe(code, forecast(48.8566, 2.3522), goals)).lastResult(3);

    it("hears which of them are neither in the task nor in an observation", async () => {
      const place = "print(get_weather(48.8566, 2.3522))";
      const unknown = /Rain at 48\.8566, 2\.3522\.[\s\S]*Remark: 48\.8566, 2\.3522: not found in the task/;
      expect(await used(place)).toMatch(unknown);
      expect(await used(place, ["Weather at 48.8566 N, 2.3522 E"])).not.toContain("Remark");
      const station = 'print(get_weather(1, 2, station="SN18700"))';
      expect(await used(station)).toContain("Remark: SN18700: not found");
      expect(await used(station, ["Ask the station SN18700"])).not.toContain("Remark");
    });

    it("finds a value in an observation that is no longer shown", async () => {
      const filler = Array.from({ length: 8 }, (_, at) => `print(${at})`);
      const show = "print(place)";
      const late = "print(get_weather(48.8566, 2.3522))";
      const { loop, request, lastResult } = await make(
        [SEARCH, show, ...filler, late, "stop()"].map((code) => act("Go.", code)),
        {
          ...Object.fromEntries(filler.map((code) => [code, () => ({ value: cellValue("ok") })])),
          [show]: () => ({ value: cellValue("Paris is at 48.8566, 2.3522") }),
          [late]: forecast(48.8566, 2.3522),
        },
      );
      await loop.run();
      expect(request(11).join()).not.toContain("48.8566");
      expect(lastResult(12)).toMatch(/Rain at 48\.8566/);
      expect(lastResult(12)).not.toContain("Remark");
    });
  });

  describe("that uses Python helpers of the home", () => {
    const source = [
      'def find_place(place: str) -> tuple[float, float, str]:\n    """Looks up where a place is."""\n    ...',
      'def weather_at(latitude: float, longitude: float) -> str:\n    """Weather there."""\n    ...',
      'def tell(kinds: tuple[str, str, int], text: str = "", station: str = "") -> None:\n    """Tells it."""\n    ...',
    ].join("\n\n");
    const modules = [{ file: "a.py", path: "/h/methods/a.py", source, ...readPythonFunctions(source) }];
    const PLACE = 'print(find_place("Oslo"))';
    const shown = (text: string) => () => ({ value: cellValue(text) });
    const used = async (code: string, cell: CellBehaviour = shown("Rain"), more: object = { modules }) => {
      const { loop, lastResult } = await makeProseLoop(
        "react",
        [act("Search.", SEARCH), act("Where?", PLACE), act("Use it.", code), act("Done.", "stop()")],
        { ...CELLS, [PLACE]: shown("59.9139, 10.7522, SN18700"), [code]: cell },
        { commands, goals: ["Print the weather in Oslo"], ...more },
      );
      await loop.run();
      return lastResult(4);
    };

    it("hears that a value of a helper was repeated wrongly, and nothing of a right one", async () => {
      expect(await used("print(weather_at(59.9138, 10.7522))")).toContain("Remark: 59.9138: not found in the task");
      expect(await used("print(weather_at(59.9139, 10.7522))")).not.toContain("Remark");
      // Control: a function that is not the home's may get any value.
      expect(await used("print(weather_at(59.9138, 10.7522))", shown("Rain"), {})).not.toContain("Remark");
    });

    it("hears of an id that it made up, and nothing of a word of its own", async () => {
      expect(await used('tell((1, 2), "", "SN18701")')).toContain("Remark: SN18701: not found");
      expect(await used('tell((1, 2), "", "SN18700")')).not.toContain("Remark");
      expect(await used('tell((1, 2), "Tryvann")')).not.toContain("Remark");
    });

    it("hears that it called two of them", async () => {
      const both = 'print(weather_at(*find_place("Oslo")[:2]))';
      expect(await used(both)).toContain("Remark: this action called 2 methods (weather_at, find_place)");
      expect(await used(both, shown("Rain"), {})).not.toContain("Remark");
    });

    it("hears which helper an unknown method may mean", async () => {
      const unknown = "print(place_weather(1, 2))";
      const failed = failedCell({ type: "NameError", message: "no", source: unknown, missingName: "place_weather" });
      expect(await used(unknown, () => failed)).toMatch(/`weather_at\(latitude[\s\S]*method_search\(/);
      expect(await used("print(weather_at(1, 2))")).not.toMatch(/`weather_at\(|method_search\(/);
    });
  });

  it("asks again after a reply without an action", async () => {
    const { loop, request } = await make([act("Search.", SEARCH), "All is done.", act("Done.", "stop()")]);
    expect(isFinished(await loop.run())).toBe(true);
    expect(request(3).slice(-3)).toEqual([
      "THOUGHT 2:\nBased on previous observations, All is done.",
      expect.stringMatching(/could not be used[\s\S]*no action[\s\S]*stop\(\)/),
      expect.stringMatching(/THOUGHT 3:\nBased on previous observations,$/),
    ]);
  });

  it("searches under a profile, and calls only the functions that it names", async () => {
    const write = "write_to_file('a.txt', 'abc')";
    const { loop, lastResult } = await makeProseLoop(
      "react",
      [act("Search.", SEARCH), act("Use.", USE), act("Write.", write), act("Done.", "stop()")],
      {
        ...CELLS,
        [write]: async (_cell, _host, { call }) => void (await call("write_to_file", { file: "a", text: "b" })),
      },
      { commands, goals: GOALS, settings: { commands: "get_weather" } },
    );
    expect(isFinished(await loop.run())).toBe(true);
    expect(lastResult(2)).toContain("`get_weather(latitude");
    expect(lastResult(3)).toContain("Rain at 59.9139");
    expect(lastResult(4)).toContain("There is no command write_to_file.");
    expect([...loop.files.keys()]).toEqual([]);
  });
});
