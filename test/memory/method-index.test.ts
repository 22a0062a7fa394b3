import { beforeAll, describe, expect, it } from "@jest/globals";
import { ALL_READY, loadRegistry, type RegisteredCommand } from "#commands/registry.ts";
import { createCodeFunctions, describeFunction } from "#commands/stubs.ts";
import type { MethodQuery, MethodText } from "#core/ports/methods.ts";
import type { Embedder, EmbeddingPurse } from "#core/ports/vectors.ts";
import { createMethodIndex } from "#memory/methods/method-index.ts";
import { openHashEmbedder } from "#memory/vectors/hash-embedder.ts";
import { describeMany, isSeedMethod, REACT_METHODS } from "../helpers/react-methods/methods.ts";

const { signal } = new AbortController();
const FREE: EmbeddingPurse = { take: () => undefined, settle: () => undefined, isShort: false };
const offline = () => createMethodIndex({ embedder: openHashEmbedder(), report: (problem) => problems.push(problem) });
const problems: string[] = [];

const textsOf = (commands: Parameters<typeof createCodeFunctions>[0]): readonly MethodText[] =>
  createCodeFunctions(commands).all.map((one) => ({ name: one.name, text: describeFunction(one) }));

let stubs: readonly RegisteredCommand[];
let fifteen: readonly MethodText[];
beforeAll(async () => {
  stubs = (await loadRegistry([REACT_METHODS], ALL_READY)).all.filter(isSeedMethod);
  fifteen = textsOf(stubs);
});
const find = (description: string, methods = fifteen, more: Partial<MethodQuery> = {}) =>
  offline().search(methods, { description, count: 6, ...more }, signal);

describe("a search among the fifteen methods of seed 001, offline", () => {
  it("finds those of the seed for its own example, in its order, and no other", async () => {
    expect(fifteen).toHaveLength(15);
    expect(await find("Send a Discord message")).toEqual([
      "send_message_discord",
      "send_slack_message",
      "send_slack_image",
    ]);
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

  it("finds the method that an invented name means", async () => {
    expect((await find("send_discord"))[0]).toBe("send_message_discord");
    expect((await find("getWeatherForecast"))[0]).toBe("get_weather_forecast");
    expect((await find("resizeImage"))[0]).toBe("shrink_image");
  });

  it("finds for an invented name only what it may mean", async () => {
    const both = textsOf([...(await loadRegistry(["commands"], ALL_READY)).all, ...stubs]);
    const named = (name: string) => find(name, both, { isName: true });
    expect((await named("send_discord"))[0]).toBe("send_message_discord");
    expect((await named("write_into_file"))[0]).toBe("write_to_file");
    expect((await named("get_geo_coordinates"))[0]).toBe("find_coordinates");
    expect((await named("resizeImage"))[0]).toBe("shrink_image");
    for (const name of [
      "undefined_name",
      "undefined_variable",
      "x",
      "foo",
      "result",
      "my_values",
      "get_undefined",
      "text",
    ])
      expect([name, await named(name)]).toEqual([name, name === "text" ? ["translate_text"] : []]);
    // Control: as a description such a name finds methods that have nothing to do with it.
    expect(await find("undefined_name", both)).not.toEqual([]);
  });

  it("finds none when nothing fits", async () => {
    expect(await find("multiply matrices")).toEqual([]);
    expect(await find("  ")).toEqual([]);
    expect(await find("Send a Discord message", [])).toEqual([]);
  });

  it("finds only what is allowed, and as many as asked for", async () => {
    const isAllowed = (name: string): boolean => name !== "send_message_discord";
    expect((await find("Send a Discord message", fifteen, { isAllowed }))[0]).toBe("send_slack_message");
    expect(await find("Send a Discord message", fifteen, { count: 1 })).toEqual(["send_message_discord"]);
  });

  it("finds the same beside the shipped commands, and these by what they do", async () => {
    const both = textsOf([...(await loadRegistry(["commands"], ALL_READY)).all, ...stubs]);
    const seeds = ["send_message_discord", "send_slack_message", "send_slack_image"];
    expect(await find("Send a Discord message", both)).toEqual(seeds);
    const firstOf = async (description: string) => (await find(description, both))[0];
    expect(await firstOf("read a text file")).toBe("read_file");
    expect(await firstOf("write a file")).toBe("write_to_file");
    expect(await firstOf("search the web")).toBe("google");
    expect(await firstOf("ask the person a question")).toBe("ask_user");
  });

  it("finds the same among a thousand others", async () => {
    const args = { type: "object", properties: {} } as const;
    const many = textsOf([...describeMany(1_000).map((one) => ({ ...one, args })), ...stubs]);
    expect(many).toHaveLength(1_015);
    const index = offline();
    const query = { description: "Send a Discord message", count: 6 };
    const expected = ["send_message_discord", "send_slack_message", "send_slack_image"];
    expect(await index.search(many, query, signal)).toEqual(expected);
    expect(await index.search(many, query, signal)).toEqual(expected);
  });
});

const fail = (problem: string): never => {
  throw new Error(problem);
};

/** An embedder that knows that a chat is Slack: a dimension for each topic. */
function topicEmbedder(changes: Partial<Embedder> = {}) {
  const topics = [/discord/i, /slack|chat/i, /weather/i, /stock/i];
  const requests: (readonly string[])[] = [];
  const embedder: Embedder = {
    id: "topics@5",
    dimensions: 5,
    local: false,
    semantic: true,
    embed: async (texts) => {
      requests.push(texts);
      return texts.map((text) => {
        const vector = Float32Array.from([...topics.map((topic) => (topic.test(text) ? 1 : 0)), 0.3]);
        const norm = Math.hypot(...vector);
        return vector.map((component) => component / norm);
      });
    },
    ...changes,
  };
  return { embedder, requests };
}

describe("a search with a server's embedder", () => {
  const description = "post in the chat";
  const index = (embedder: Embedder) => createMethodIndex({ embedder, report: (problem) => problems.push(problem) });

  it("finds by meaning what shares no word, and buys each vector once", async () => {
    const { embedder, requests } = topicEmbedder();
    const methods = index(embedder);
    expect(methods.remote).toBe(true);
    const query = { description, count: 3, purse: FREE };
    const found = await methods.search(fifteen, query, signal);
    expect(found.toSorted()).toEqual(["list_slack_channels", "send_slack_image", "send_slack_message"]);
    expect(requests.map(({ length }) => length)).toEqual([1, 15]);
    const more = [...fifteen, { name: "wave", text: "`wave()`: Waves in the chat." }];
    await Promise.all([methods.search(more, query, signal), methods.search(more, query, signal)]);
    expect(requests.map(({ length }) => length)).toEqual([1, 15, 1, 1, 1]);
    expect(await find(description, fifteen)).toEqual([]);
  });

  it("buys no vector that another process has bought, and each that changed", async () => {
    let content: unknown;
    const cache = {
      read: async () => JSON.parse(JSON.stringify(content ?? null)),
      write: async (written: object) => {
        content = written;
      },
    };
    const query = { description, count: 3, purse: FREE };
    const searchAgain = async (methods: readonly MethodText[], id = "topics@5") => {
      const { embedder, requests } = topicEmbedder({ id });
      const found = await createMethodIndex({ embedder, cache, report: fail }).search(methods, query, signal);
      return { found, bought: requests.map(({ length }) => length) };
    };
    const first = await searchAgain(fifteen);
    expect(first.bought).toEqual([1, 15]);
    expect(await searchAgain(fifteen)).toEqual({ ...first, bought: [1] });
    expect((await searchAgain([...fifteen, { name: "wave", text: "waves" }])).bought).toEqual([1, 1]);
    expect((await searchAgain(fifteen, "others@5")).bought).toEqual([1, 15]);
    for (const damaged of [
      "x",
      { embedder: "topics@5", vectors: [7] },
      { embedder: "topics@5", vectors: { a: "AAAA" } },
    ]) {
      content = damaged;
      expect(await searchAgain(fifteen)).toEqual(first);
    }
  });

  it("keeps what it bought before the agent's limits ended the purchase", async () => {
    const many = Array.from({ length: 200 }, (_, at) => ({ name: `m${at}`, text: `method ${at} for the weather` }));
    const { embedder, requests } = topicEmbedder();
    let left = 100;
    const paying: Embedder = {
      ...embedder,
      embed: async (texts, given, purse) => {
        purse?.take(texts.length);
        return embedder.embed(texts, given);
      },
    };
    const purse = {
      ...FREE,
      get isShort() {
        return left < 0;
      },
      take: (tokens: number) => {
        left -= tokens;
        if (left < 0) throw new Error("nothing left");
      },
    };
    const methods = index(paying);
    expect(await methods.search(many, { description: "weather 7", count: 1, purse }, signal)).toEqual(["m7"]);
    expect(requests.map(({ length }) => length)).toEqual([1, 96]);
    await methods.search(many, { description: "weather 7", count: 1, purse: FREE }, signal);
    expect(requests.slice(2).map(({ length }) => length)).toEqual([1, 96, 8]);
  });

  it("sends nothing without a purse", async () => {
    const { embedder, requests } = topicEmbedder();
    await index(embedder).search(fifteen, { description: "Send a Discord message", count: 3 }, signal);
    expect(requests).toEqual([]);
  });

  it("uses words when the server does not answer, or when the agent cannot pay", async () => {
    const failing = topicEmbedder({ embed: () => Promise.reject(new Error("no such server")) }).embedder;
    const expected = ["send_message_discord", "send_slack_message", "send_slack_image"];
    const query = { description: "Send a Discord message", count: 6, purse: FREE };
    expect(await index(failing).search(fifteen, query, signal)).toEqual(expected);
    expect(problems.at(-1)).toMatch(/no such server/);
    const short = topicEmbedder({
      embed: async (texts, _signal, purse) => {
        purse?.take(texts.length);
        return [];
      },
    }).embedder;
    const purse = {
      ...FREE,
      isShort: true,
      take: () => {
        throw new Error("nothing left");
      },
    };
    expect(await index(short).search(fifteen, { ...query, purse }, signal)).toEqual(expected);
  });

  it("compares no vectors of two embedders, when the server's is replaced by the local one", async () => {
    let id = "topics@0";
    const { embedder } = topicEmbedder();
    const changing: Embedder = {
      ...embedder,
      get id() {
        return id;
      },
      embed: async (texts, ...rest) => {
        const made = await embedder.embed(texts, ...rest);
        id = texts.length > 1 ? "other@5" : "topics@5";
        return made;
      },
    };
    const found = await index(changing).search(fifteen, { description, count: 3, purse: FREE }, signal);
    expect(found).toEqual([]);
  });
});
