import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { SearchAnswer, WebSearch } from "#core/services.ts";
import google from "../../commands/google.ts";
import { call, contextOf, type Desk, makeDesk } from "./context.ts";

let desk: Desk;
beforeEach(async () => {
  desk = await makeDesk();
});
afterEach(async () => desk[Symbol.asyncDispose]());

const HIT = { title: "Strings", href: "https://one.example/", body: "A few words." };
const search = (answer: Partial<SearchAnswer>) => {
  const asked: unknown[] = [];
  const service: WebSearch = {
    search: async (query, count) => {
      asked.push([query, count]);
      return { provider: "brave", results: [], failed: [], isCached: false, ...answer };
    },
  };
  const observation = call(google, { input: "tennis strings" }, contextOf(desk.workspace, { search: service }));
  return { asked, observation };
};

describe("google", () => {
  it("requests eight results and lists them with the provider", async () => {
    const { asked, observation } = search({ results: [HIT, HIT] });
    const { text, ...rest } = await observation;
    expect(asked).toEqual([["tennis strings", 8]]);
    expect(rest).toEqual({ status: "ok", source: "web", artifacts: [], value: [HIT, HIT] });
    const [head, ...list] = text.split("\n");
    expect(head).toBe("2 results from brave.");
    expect(JSON.parse(list.join("\n"))).toEqual([HIT, HIT]);
  });

  it("reports a cached answer, and providers that did not answer", async () => {
    const failed = [{ provider: "tavily", reason: "its limit is reached (429)" }];
    const { text } = await search({ results: [HIT], failed, isCached: true }).observation;
    expect(text.split("\n")[0]).toBe(
      "1 result from brave, as it answered within the last 24 hours. tavily did not answer: its limit is reached (429).",
    );
  });

  it("reports no results only if the provider does", async () => {
    expect((await search({}).observation).text).toBe("brave found nothing for this. Try other words.");
  });
});
