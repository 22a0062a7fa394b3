/**
 * The rows of seed 001, ReAct REPL, each with the real program, the real sandbox and a model that knows only its
 * prompt.
 */
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { estimateMessage } from "#prompt/tokens.ts";
import { action, type Line, type Seen, thoughtOf } from "../helpers/models.ts";
import { readPng } from "../helpers/react-methods/commands/_picture.ts";
import {
  CHANNELS,
  type ReactServices,
  startReactServices,
  writeManyMethods,
  writePythonMethods,
  writeReactMethods,
} from "../helpers/react-methods/methods.ts";
import { makeSeedHome, type SeedHome } from "../helpers/seed-home.ts";

const SEARCH = 'method_search("Write a file")';

/** Each action at its thought. Then the end. */
const inTurn = (...actions: readonly string[]): readonly Line[] => [
  ...actions.map(
    (code, index): Line => ({ when: (seen) => thoughtOf(seen) === index + 1, say: (seen) => action(seen, code) }),
  ),
  { when: (seen) => thoughtOf(seen) === actions.length + 1, say: (seen) => action(seen, "stop()") },
];
/** The observation after an action, by its number, without recalls of earlier ones. */
function observationOf(home: SeedHome, number: number): string {
  const { messages = [] } = home.seen.find((seen) => thoughtOf(seen) === number + 1) ?? {};
  const all = messages.map(({ content }) => content).join("\n");
  const [, after = ""] = all.split(`OBSERVATION ${number}:`);
  return after.split(/^(?:Recalled:|THOUGHT \d+:)/m)[0] ?? "";
}
const at = (home: SeedHome, thought: number): Seen | undefined => home.seen.find((seen) => thoughtOf(seen) === thought);

/** Actions in turn, each with what its observation says, and what it does not say. */
const ACTIONS: readonly (readonly [row: string, code: string, says: RegExp, saysNot?: RegExp])[] = [
  ["begins with a search", SEARCH, /write_to_file\(/, /Remark/],
  ["R6: without a print, it says to print", "total = 6 * 1234567", /Nothing was printed/, /7407402/],
  [
    "R5, R6: it is what was printed, of a name that an earlier action has set",
    "print(total)",
    /7407402/,
    /Nothing was printed|method_search/,
  ],
  [
    "R7: an error shows the failing line of the action and a hint, and no path of the machine",
    "first = 1\nsecond = first + 'x'\nthird = 3",
    /TypeError[\s\S]*second = first \+ 'x'[\s\S]*method_search/,
    /third = 3|first = 1|Traceback|\/(?:home|root|tmp|work|usr)\//,
  ],
  ["R8: no import", "import os", /import/i, /Nothing was printed/],
  ["R9: a remark on two calls", "a = list_agents()\nb = list_agents()\nprint(a, b)", /called 2 methods/, /import/],
  ["R8: no import of a name", "from os import path", /import/i, /Nothing was printed/],
  ["R9: none on one call", "c = list_agents()\nprint(c)", /\[\]/, /called 2 methods/],
  ["R10: a value of no one", "print(write_to_file('place.txt', str(48.8566)))", /48\.8566[\s\S]*word for word/],
  ["R8: no import by a function", "__import__('os')", /import/i, /Nothing was printed/],
  ["R10: a seen one", "print(write_to_file('place.txt', 'Paris'))", /place\.txt/, /word for word/i],
  ["R8: no import by a module", "import importlib\nimportlib.import_module('os')", /import/i, /Nothing was printed/],
  ["R11: what a search finds for a name that does not exist", "write_into_file('a.txt', 'a')", /write_to_file\(/],
  ["goes on", "print('between')", /between/, /Remark/],
  ["R12: stop() in an action that fails does not end the run", "total = 1 / 0\nstop()", /ZeroDivisionError/],
];

describe("ReAct REPL", () => {
  it("R1, R4 to R12: each action with a running number is followed by what came of it, until stop()", async () => {
    await using home = await makeSeedHome(inTurn(...ACTIONS.map(([, code]) => code)));
    await home.run("react", { goal: "Compute six times seven. Write Paris into the file place.txt." });
    const third = at(home, 3)?.all ?? "";
    expect(third).toMatch(/TASK:[\s\S]*Compute six times seven/);
    const words = ["THOUGHT 1", "ACTION 1", "OBSERVATION 1", "THOUGHT 2", "ACTION 2", "OBSERVATION 2", "THOUGHT 3"];
    const places = words.map((word) => third.lastIndexOf(`${word}:`));
    expect(places.every((place) => place >= 0)).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(at(home, 2)?.last).toMatch(/THOUGHT 2:\nBased on previous observations,$/);
    for (const [index, [row, , says, saysNot]] of ACTIONS.entries()) {
      const shown = observationOf(home, index + 1);
      expect([row, shown]).toEqual([row, expect.stringMatching(says)]);
      if (saysNot) expect([row, shown]).not.toEqual([row, expect.stringMatching(saysNot)]);
    }
    // The model cannot invent an observation.
    for (const { request } of home.seen) expect(JSON.stringify(request)).toMatch(/"stop":[^}]*OBSERVATION/);
    expect(home.seen).toHaveLength(ACTIONS.length + 1);
    expect((await home.log()).filter(({ type }) => type === "turn-finished")).toHaveLength(1);
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

// The six tasks of seed 001, each as a model that reads methods and values from observations only.
//
// A task has the number of steps that the seed reports for its best model. An action names a method only after a search
// has shown it, and each value comes from the task or an observation.

interface ReactTask {
  readonly goal: string;
  /** Actions in turn. The condition of each is that the prompt shows what it uses. */
  readonly actions: readonly TaskAction[];
}
interface TaskAction {
  readonly code: string | ((seen: Seen) => string);
  /** Texts that the prompt must show before this action: a method's signature, a variable, a value. */
  readonly needs?: readonly (string | RegExp)[];
}

const search = (words: string): TaskAction => ({ code: `method_search(${JSON.stringify(words)})` });
const act = (code: TaskAction["code"], ...needs: readonly (string | RegExp)[]): TaskAction => ({ code, needs });
const stop = act("stop()");
const LOCATE = act("location = get_user_location()\nprint(location)");
const CHANNEL = "#experimenting-with-simple-ai-agents";
const WEATHER_HERE = act(
  ({ all }) =>
    `weather = get_current_weather(${numberIn(all, "latitude")}, ${numberIn(all, "longitude")})\nprint(weather)`,
  "get_current_weather(",
  "'latitude': 52.52",
);
const channelId = ({ all }: Seen): string => /'id': '(C\w+)', 'name': '#?experimenting/.exec(all)?.[1] ?? "";

const REACT_TASKS: Readonly<Record<string, ReactTask>> = {
  A: {
    goal: "Print the current date.",
    actions: [
      search("Print the current date"),
      act("current_date = datetime.now().date()\nprint(current_date)"),
      act("print(current_date.isoformat())", /\d{4}-\d\d-\d\d/),
      stop,
    ],
  },
  B: {
    goal: "Send a Discord message with the current weather for my location.",
    actions: [
      search("Get the current weather for a location"),
      LOCATE,
      WEATHER_HERE,
      search("Send a Discord message"),
      act("send_message_discord(weather['conditions'])", "send_message_discord(", "'conditions'"),
      act("print(weather['conditions'])"),
      stop,
    ],
  },
  C: {
    goal: `Send a Slack message to the ${CHANNEL} channel with the current weather for London, UK.`,
    actions: [
      search("Find the coordinates of a place"),
      act("london = find_coordinates('London, UK')\nprint(london)", "find_coordinates("),
      search("Get the current weather for coordinates"),
      act(
        "weather = get_current_weather(london['latitude'], london['longitude'])\nprint(weather)",
        "get_current_weather(",
      ),
      search("Find the ID of a Slack channel"),
      act("channels = list_slack_channels()\nprint(channels)", "list_slack_channels("),
      search("Send a message to a Slack channel"),
      act("print(weather['conditions'])"),
      act(
        (seen) => `send_slack_message(weather['conditions'], '${channelId(seen)}')`,
        "send_slack_message(",
        /'id': 'C\w+'/,
      ),
      act("print(channels)"),
      stop,
    ],
  },
  D: {
    goal: "Send a descriptive Discord message with the weather forecast for the next 5 days for my location. Describe the weather each day with an appropriate emoji, include the dates in the message.",
    actions: [
      search("Get the weather forecast for the next days"),
      LOCATE,
      act(
        ({ all }) =>
          `forecast = get_weather_forecast(${numberIn(all, "latitude")}, ${numberIn(all, "longitude")}, 5)\nprint(forecast)`,
        "get_weather_forecast(",
      ),
      search("Find an emoji for a description of the weather"),
      act(
        "emojis = {'sunny': '☀️', 'cloudy': '☁️', 'light rain': '🌧️', 'thunderstorm': '⛈️', 'snow': '❄️'}\nprint(emojis)",
        "'sunny'",
        "'thunderstorm'",
      ),
      act(
        "lines = [day['date'] + ' ' + emojis[day['conditions']] + ' ' + day['conditions'] for day in forecast]\nprint(lines)",
      ),
      act("message = 'Weather forecast: ' + ', '.join(lines)\nprint(message)"),
      search("Send a Discord message"),
      act("send_message_discord(message)", "send_message_discord("),
      act("print(len(lines))"),
      stop,
    ],
  },
  E: {
    goal: "Lookup the NASA picture-of-the day, resize to half it's size, and send to Discord with a message starting with 'Hello from Space!' and providing additional information about the image.",
    actions: [
      search("Lookup the NASA picture-of-the-day"),
      act("apod = get_nasa_astronomy_picture_of_the_day()\nprint(apod)", "get_nasa_astronomy_picture_of_the_day("),
      search("Download an image from an URL"),
      act("nasa_image = download_image(apod['url'])\nprint(nasa_image)", "download_image(", "'url'"),
      search("Resize the downloaded picture to half its size"),
      act("resized_nasa_image = shrink_image(nasa_image, 0.5)\nprint(resized_nasa_image)", "shrink_image("),
      search("Send a Discord message with an image"),
      act(
        "message = 'Hello from Space! ' + apod['title'] + ': ' + apod['explanation']\nprint(message)",
        "'explanation'",
      ),
      act("send_message_discord(message, resized_nasa_image)", "send_message_discord("),
      stop,
    ],
  },
  F: {
    goal: `What week in the last 3 months had the lowest MSFT stock closing price? Send the result including price and date to the ${CHANNEL} Slack channel.`,
    actions: [
      search("Get historical stock prices"),
      act("today = datetime.now().date()\nprint(today)"),
      act("first_of_month = today.replace(day=1)\nprint(first_of_month)"),
      act("month = (today.month - 4) % 12 + 1\nprint(month)"),
      act("first_day = today.replace(year=today.year - (today.month <= 3), month=month, day=1)\nprint(first_day)"),
      act(
        "prices = get_stock_prices('MSFT', first_day.isoformat(), today.isoformat())\nprint(len(prices))",
        "get_stock_prices(",
        "MSFT",
      ),
      act("lowest = min(prices, key=lambda day: day['close'])\nprint(lowest)"),
      act("year, week, weekday = datetime.fromisoformat(lowest['date']).isocalendar()\nprint(week)"),
      search("Find the ID of a Slack channel"),
      act("channels = list_slack_channels()\nprint(channels)", "list_slack_channels("),
      search("Send a message to a Slack channel"),
      act(
        "message = 'MSFT closed lowest in week ' + str(week) + ', on ' + lowest['date'] + ', at ' + str(lowest['close'])\nprint(message)",
        "'close'",
      ),
      act((seen) => `send_slack_message(message, '${channelId(seen)}')`, "send_slack_message(", /'id': 'C\w+'/),
      act("print(message)"),
      stop,
    ],
  },
};

/** The lines of one task. A request that does not show what its action needs has no line, and fails the test. */
const linesOf = ({ actions }: ReactTask): readonly Line[] =>
  actions.map(({ code, needs = [] }, index) => ({
    when: (seen) => thoughtOf(seen) === index + 1 && needs.every((text) => shows(seen, text)),
    say: (seen) =>
      action(seen, typeof code === "string" ? code : code(seen), `Step ${index + 1} of ${actions.length}.`),
  }));

const shows = ({ all }: Seen, text: string | RegExp): boolean =>
  typeof text === "string" ? all.includes(text) : text.test(all);

/** The newest number behind a key of a printed dictionary. */
function numberIn(text: string, key: string): string {
  return [...text.matchAll(new RegExp(`'${key}': (-?[\\d.]+)`, "g"))].at(-1)?.[1] ?? "";
}

/** The seed's numbers of steps of its best model. */
const STEPS: Readonly<Record<string, number>> = { A: 4, B: 7, C: 11, D: 11, E: 10, F: 15 };
const MAX_PROMPT_TOKENS = 8_000;
const LOCATION = '{"city":"Berlin","latitude":52.52,"longitude":13.405}';

/** What a task has sent when it is done. */
const SENT: Readonly<Record<string, (services: ReactServices) => void>> = {
  A: ({ sent }) => expect(sent).toEqual([]),
  B: ({ sent }) => expect(sent).toEqual([{ path: "/discord", body: { msg: "light rain" } }]),
  C: ({ sent }) =>
    expect(sent).toEqual([{ path: "/slack/messages", body: { msg: "light rain", channel_id: CHANNELS[1]?.id } }]),
  D: ({ sent }) => {
    const days = ["☀️ sunny", "☁️ cloudy", "🌧️ light rain", "⛈️ thunderstorm", "❄️ snow"];
    const dates = days.map((day, at) => `2026-11-${23 + at} ${day}`);
    expect(sent).toEqual([{ path: "/discord", body: { msg: `Weather forecast: ${dates.join(", ")}` } }]);
  },
  E: ({ sent }) => {
    expect(sent).toHaveLength(1);
    const { msg, image } = sent[0]?.body ?? {};
    expect(msg).toMatch(/^Hello from Space! The Pillars of Creation: /);
    expect(readPng(Buffer.from(String(image), "base64"))).toMatchObject({ width: 4, height: 3 });
  },
  F: ({ sent }) => {
    expect(sent).toHaveLength(1);
    const { msg, channel_id: channel } = sent[0]?.body ?? {};
    expect(channel).toBe(CHANNELS[1]?.id);
    const [, price] = /^MSFT closed lowest in week \d+, on \d{4}-\d\d-\d\d, at ([\d.]+)$/.exec(String(msg)) ?? [];
    // No price of the service is lower than 400, but for one day.
    expect(Number(price)).toBeLessThanOrEqual(400);
  },
};

async function runTask(id: string, goal: string, home: SeedHome, services: ReactServices): Promise<void> {
  await home.run("react", { goal, flags: ["--max-steps", "40", "--approve", "never"] });
  expect(home.seen).toHaveLength(STEPS[id] as number);
  const log = await home.log();
  expect(log.filter(({ type }) => ["reply-rejected", "repetition-noticed", "command-denied"].includes(type))).toEqual(
    [],
  );
  const results = log.flatMap((event) => (event.type === "command-finished" ? [event.observation] : []));
  expect(results.filter(({ status, text }) => status !== "ok" || String(text).includes("Remark:"))).toEqual([]);
  SENT[id]?.(services);
}

const tokensOf = ({ server }: SeedHome): number =>
  Math.max(
    ...server.chats.map(({ messages }) => messages.reduce((sum, { content }) => sum + estimateMessage(content), 0)),
  );

const METHODS: readonly (readonly [over: string, write: (home: string, origin: string) => Promise<void>])[] = [
  [
    "fifteen methods and 1,000 more",
    async (home, origin) => {
      await writeManyMethods(join(home, "commands"), 1_000);
      await writeReactMethods(join(home, "commands"), origin);
    },
  ],
  ["methods/*.py", writePythonMethods],
];

describe.each(METHODS)("R14: the six tasks of seed 001 over %s", (_over, writeMethods) => {
  it.each(Object.entries(REACT_TASKS))(
    "%s takes as many steps as in the seed, none of them lost, nothing is denied or remarked, and prompts are short",
    async (id, task) => {
      await using services = await startReactServices();
      await using home = await makeSeedHome(linesOf(task), { env: { GOALD_SANDBOX_LOCATION: LOCATION } });
      await writeMethods(home.goald.home, services.origin);
      await runTask(id, task.goal, home, services);
      expect(tokensOf(home)).toBeLessThan(MAX_PROMPT_TOKENS);
    },
    60_000,
  );
});
