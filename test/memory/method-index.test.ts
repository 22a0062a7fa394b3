import { beforeAll, describe, expect, it } from "@jest/globals";
import { createCodeFunctions, describeFunction } from "#commands/code-functions.ts";
import { ALL_READY, loadRegistry, type RegisteredCommand } from "#commands/registry.ts";
import type { CountTokens, Embedder, MethodQuery, MethodText } from "#core/ports/memory.ts";
import { createMethodIndex } from "#memory/method-index.ts";
import { openWordEmbedder } from "#memory/vectors/offline-embedder.ts";
import { toUnit } from "#memory/vectors/unit-vector.ts";
import { openWordTable } from "#memory/words/word-table.ts";
import { fixedEmbedder, openHashEmbedder } from "../helpers/memory-rows.ts";
import { describeMany, isSeedMethod, REACT_METHODS } from "../helpers/react-methods/methods.ts";

const { signal } = new AbortController();
const countTokens: CountTokens = () => undefined;
const open = (embedder: Embedder) => createMethodIndex({ embedder, report: (problem) => problems.push(problem) });
const offline = () => open(openWordEmbedder());
const problems: string[] = [];

const textsOf = (commands: Parameters<typeof createCodeFunctions>[0]): readonly MethodText[] =>
  createCodeFunctions(commands).all.map((one) => ({ name: one.name, text: describeFunction(one) }));

let stubs: readonly RegisteredCommand[];
let fifteen: readonly MethodText[];
/** The fifteen among a thousand others, and beside the shipped commands. */
let many: readonly MethodText[];
let both: readonly MethodText[];
beforeAll(async () => {
  stubs = (await loadRegistry([REACT_METHODS], ALL_READY)).all.filter(isSeedMethod);
  fifteen = textsOf(stubs).map((method) => ({ ...method, isOwn: true }));
  const args = { type: "object", properties: {} } as const;
  many = [...textsOf(describeMany(1_000).map((one) => ({ ...one, args }))), ...fifteen];
  both = [...textsOf((await loadRegistry(["commands"], ALL_READY)).all), ...fifteen];
});
const EXAMPLE = ["send_message_discord", "send_slack_message", "send_slack_image"];
const find = (description: string, methods = fifteen, more: Partial<MethodQuery> = {}) =>
  offline().search(methods, { description, count: 6, ...more }, signal);

describe("a search among the fifteen methods of seed 001, offline", () => {
  it("finds those of the seed for its own example first, in its order", async () => {
    expect(fifteen).toHaveLength(15);
    expect((await find("Send a Discord message")).slice(0, 3)).toEqual(EXAMPLE);
  });

  it.each([
    ["Resize the downloaded picture to half its size", ["shrink_image", "download_image"]],
    ["the current weather for my location", ["get_current_weather", "get_weather_forecast"]],
    ["weather forecast for the next 5 days", ["get_weather_forecast"]],
    ["Look up the NASA picture of the day", ["get_nasa_astronomy_picture_of_the_day"]],
    ["MSFT stock closing price in the last 3 months", ["get_stock_prices"]],
    ["coordinates of London", ["find_coordinates"]],
    ["list the Slack channels with their ids", ["list_slack_channels"]],
  ])("finds for %p first %p", async (description, first) => {
    expect((await find(description)).slice(0, first.length)).toEqual(first);
  });

  it("finds for an invented name only what it may mean", async () => {
    const named = (name: string) => find(name, both, { isName: true });
    expect((await named("send_discord"))[0]).toBe("send_message_discord");
    expect((await named("write_into_file"))[0]).toBe("write_to_file");
    expect((await named("get_geo_coordinates"))[0]).toBe("find_coordinates");
    expect((await named("resizeImage"))[0]).toBe("shrink_image");
    expect((await named("getWeatherForecast"))[0]).toBe("get_weather_forecast");
    expect(await named("text")).toEqual(["translate_text"]);
    for (const name of "undefined_name undefined_variable x foo result my_values get_undefined".split(" "))
      expect([name, await named(name)]).toEqual([name, []]);
    // Control: as a description such a name finds methods that have nothing to do with it.
    expect(await find("undefined_name", both)).not.toEqual([]);
  });

  it("finds at least three where nothing fits, and none for a description without words", async () => {
    expect((await find("multiply matrices")).length).toBeGreaterThanOrEqual(3);
    expect(await find("multiply matrices", fifteen.slice(0, 1))).toHaveLength(1);
    expect(await find(" ? ")).toEqual([]);
    expect(await find("Send a Discord message", [])).toEqual([]);
  });

  it("finds only what is allowed, and as many as asked for", async () => {
    const isAllowed = (name: string): boolean => name !== "send_message_discord";
    expect((await find("Send a Discord message", fifteen, { isAllowed }))[0]).toBe("send_slack_message");
    expect(await find("Send a Discord message", fifteen, { count: 1 })).toEqual(["send_message_discord"]);
  });

  it("finds the same beside the shipped commands, and these by what they do", async () => {
    expect((await find("Send a Discord message", both)).slice(0, 3)).toEqual(EXAMPLE);
    const firstOf = async (description: string) => (await find(description, both))[0];
    expect(await firstOf("read a text file")).toBe("read_file");
    expect(await firstOf("write a file")).toBe("write_to_file");
    expect(await firstOf("search the web")).toBe("google");
    expect(await firstOf("ask the person a question")).toBe("ask_user");
  });

  it("finds the same among a thousand others", async () => {
    expect(many).toHaveLength(1_015);
    const index = offline();
    const search = () => index.search(many, { description: "Send a Discord message", count: 6 }, signal);
    const first = await search();
    expect(first.slice(0, 3)).toEqual(EXAMPLE);
    expect(await search()).toEqual(first);
  });

  it("finds by shared words while the table of words is missing", async () => {
    const index = open(openWordEmbedder(() => openWordTable(Buffer.alloc(9))));
    const query = { description: "Send a Discord message", count: 3 };
    expect((await index.search(fifteen, query, signal))[0]).toBe("send_message_discord");
  });

  it("prefers a method of the home to a shipped one that fits as well, not to one that fits better", async () => {
    const tells = { name: "tell_story", text: "`tell_story()`: Tells a story." };
    const own = { name: "tell_tale", text: "`tell_tale()`: Tells a story.", isOwn: true };
    const other = { name: "sharpen_pencil", text: "`sharpen_pencil()`: Sharpens a pencil.", isOwn: true };
    const twin = { ...own, name: "tell_story_again", text: tells.text };
    expect((await find("tell a story", [tells, other]))[0]).toBe("tell_story");
    expect(await find("tells", [tells, twin, other])).toEqual(["tell_story_again", "tell_story", "sharpen_pencil"]);
    expect((await find("tells", [tells, { ...twin, isOwn: false }, other]))[0]).toBe("tell_story");
  });
});

/**
 * What a person may say for the methods of seed 001, mostly in words that they do not have, with the methods that do it.
 * Weights and limits of the search were chosen by the rows with even numbers, from 0; the others were kept back.
 */
const PARAPHRASES = `
get_weather_forecast: what will the sky be like on Saturday; will it rain tomorrow;
  temperatures expected during the coming week; the climate outlook for three days ahead
get_current_weather: how warm is it outside right now; is it snowing at this moment
shrink_image: make the photo smaller; reduce the dimensions of a photograph; scale a photo down by half
rotate_image: turn the photo sideways; flip a photograph upside down; fix a portrait that is tilted
download_image: fetch a photo from a website; save the jpeg behind this link to disk
send_message_discord, send_slack_message: let the team know on chat; post an announcement for my colleagues;
  notify everybody that the job is done; write to the gaming community server
send_slack_image, send_message_discord: share a photo with my coworkers; post a screenshot in the chat room
list_slack_channels: which rooms can I write in; show the available chat rooms; names of all discussion groups
find_coordinates: where on the globe is Oslo; latitude and longitude of a town; position of a village on the map
get_stock_prices: how did the shares of Apple do last year; what a company was worth on the market each day;
  history of Microsoft share values
get_exchange_rate: how many dollars do I get for one euro; convert money from pounds to yen;
  value of the yen against the franc
translate_text: say this sentence in French; put a paragraph into Spanish; German version of an English letter
describe_emoji: what does this smiley stand for; explain a little face symbol; sense of a smiley icon
get_nasa_astronomy_picture_of_the_day: today's space photo; a beautiful shot of a galaxy or nebula;
  universe image with its explanation; the telescope photo that the space agency chose
`
  .trim()
  .replaceAll("\n  ", " ")
  .split("\n")
  .flatMap((line) => {
    const [methods = "", descriptions = ""] = line.split(": ");
    return descriptions.split("; ").map((description) => ({ description, fits: methods.split(", ") }));
  });

/** Shares of the paraphrases that find their method first, and among the first three. */
async function sharesOf(methods: readonly MethodText[], embedder: Embedder) {
  const index = open(embedder);
  let [first, firstThree] = [0, 0];
  for (const { description, fits } of PARAPHRASES) {
    const found = await index.search(methods, { description, count: 3 }, signal);
    if (fits.includes(found[0] ?? "")) first++;
    if (found.some((name) => fits.includes(name))) firstThree++;
  }
  return { first: first / PARAPHRASES.length, firstThree: firstThree / PARAPHRASES.length };
}

it.each([
  ["among the fifteen", () => fifteen, 0.6, 0.8],
  ["among a thousand others", () => many, 0.5, 0.7],
  ["beside the shipped commands", () => both, 0.5, 0.6],
])("other words find most methods offline %s, and spelling few", async (_where, methods, least, leastThree) => {
  const byMeaning = await sharesOf(methods(), openWordEmbedder());
  expect(byMeaning.first).toBeGreaterThanOrEqual(least);
  expect(byMeaning.firstThree).toBeGreaterThanOrEqual(leastThree);
  const bySpelling = await sharesOf(methods(), openHashEmbedder());
  expect(bySpelling.first).toBeLessThan(least / 2);
  expect(bySpelling.firstThree).toBeLessThan(leastThree);
});

/** An embedder that knows that a chat is Slack: a dimension for each topic. */
function topicEmbedder() {
  const topics = [/discord/i, /slack|chat/i, /weather/i, /stock/i];
  const embedder = fixedEmbedder({ id: "topics@5", dimensions: 5 });
  const vectorOf = (text: string) =>
    toUnit(Float32Array.from([...topics.map((topic) => (topic.test(text) ? 1 : 0)), 0.3]), 5);
  embedder.instead = async (texts) => texts.map(vectorOf);
  return { embedder, vectorOf, sizes: () => embedder.requests.map(({ length }) => length) };
}

describe("a search with a server's embedder", () => {
  const description = "post in the chat";
  const query = { description, count: 3, countTokens };

  it("finds by meaning what shares no word, and buys each vector once", async () => {
    const { embedder, sizes } = topicEmbedder();
    const methods = open(embedder);
    expect(methods.remote).toBe(true);
    const found = await methods.search(fifteen, query, signal);
    expect(found.toSorted()).toEqual(["list_slack_channels", "send_slack_image", "send_slack_message"]);
    expect(sizes()).toEqual([1, 15]);
    const more = [...fifteen, { name: "wave", text: "`wave()`: Waves in the chat." }];
    await Promise.all([methods.search(more, query, signal), methods.search(more, query, signal)]);
    expect(sizes()).toEqual([1, 15, 1, 1, 1]);
    const spelled = await open(openHashEmbedder()).search(fifteen, query, signal);
    expect(spelled.filter((name) => name.includes("slack"))).toEqual([]);
  });

  it("buys all vectors anew when the server's model changed", async () => {
    let id = "topics@5";
    const { embedder, sizes } = topicEmbedder();
    const methods = open(Object.defineProperty({ ...embedder }, "id", { get: () => id }));
    const first = await methods.search(fifteen, query, signal);
    id = "others@5";
    expect(await methods.search(fifteen, query, signal)).toEqual(first);
    expect(sizes()).toEqual([1, 15, 1, 15]);
  });

  it("keeps what it bought before the server failed", async () => {
    const numbered = (at: number) => ({ name: `weather_${at}`, text: `method ${at} for the weather` });
    const crowd = Array.from({ length: 200 }, (_, at) => numbered(at));
    const { embedder, vectorOf, sizes } = topicEmbedder();
    let left = 100;
    embedder.instead = async (texts) => {
      left -= texts.length;
      if (left < 0) throw new Error("HTTP 500");
      return texts.map(vectorOf);
    };
    const methods = open(embedder);
    const query = { description: "weather 7", count: 1, countTokens };
    expect(await methods.search(crowd, query, signal)).toEqual(["weather_7"]);
    expect(sizes()).toEqual([1, 96, 96]);
    left = 1_000;
    // The first search after a failure sends nothing.
    for (let search = 0; search < 2; search++) await methods.search(crowd, query, signal);
    expect(sizes().slice(3)).toEqual([1, 96, 8]);
  });

  it("sends nothing when nobody counts the tokens", async () => {
    const { embedder, sizes } = topicEmbedder();
    await open(embedder).search(fifteen, { description: "Send a Discord message", count: 3 }, signal);
    expect(sizes()).toEqual([]);
  });

  it("uses words when the server does not answer", async () => {
    const { embedder } = topicEmbedder();
    embedder.instead = () => Promise.reject(new Error("no such server"));
    const query = { description: "Send a Discord message", count: 3, countTokens };
    expect(await open(embedder).search(fifteen, query, signal)).toEqual(EXAMPLE);
    expect(problems.at(-1)).toMatch(/no such server/);
  });

  it("compares no vectors of two embedders, when the server's is replaced by the local one", async () => {
    let id = "topics@0";
    const { embedder, vectorOf } = topicEmbedder();
    embedder.instead = async (texts) => {
      id = texts.length > 1 ? "other@5" : "topics@5";
      return texts.map(vectorOf);
    };
    const changing = Object.defineProperty({ ...embedder }, "id", { get: () => id });
    const found = await open(changing).search(fifteen, query, signal);
    expect(found).toEqual(await find(description, fifteen, { count: 3 }));
  });
});
