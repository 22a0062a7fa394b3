import { afterAll, describe, expect, it } from "@jest/globals";
import type { Passage } from "#core/services.ts";
import { createHttp } from "#http/http.ts";
import { createPageReader } from "#services/page/read-page.ts";
import {
  createWebPages,
  estimateTokens,
  type FetchedPage,
  type FetchPage,
  rankPassages,
  selectPassages,
  splitIntoPassages,
} from "#services/page/web-pages.ts";
import { createPoliteWeb } from "#services/web/polite-web.ts";
import { fakeClock } from "../helpers/fake-clock.ts";
import { startServiceServer } from "../helpers/service-server.ts";

const reader = createPageReader();
afterAll(() => reader.close());
const signal = new AbortController().signal;
const A_MINUTE = 60_000;
const HOME = "https://a.example/";

/** A site that counts what it is asked. */
function openSite(
  answer: (request: Parameters<FetchPage>[1], count: number) => Partial<FetchedPage> & { text?: string },
) {
  const asked: Parameters<FetchPage>[1][] = [];
  const clock = fakeClock();
  const fetchPage: FetchPage = async (url, request) => {
    asked.push(request);
    const { text = "", ...rest } = answer(request, asked.length);
    const headers = new Headers({ "content-type": "text/html" });
    return { url, status: 200, headers, bytes: new TextEncoder().encode(text), isCut: false, ...rest };
  };
  return { asked, clock, pages: createWebPages({ fetchPage, reader, clock }) };
}
const marked = (etag: string) => new Headers({ "content-type": "text/html", etag });

describe("a web page", () => {
  it("has its final address, hash, time and remarks", async () => {
    const { pages, clock } = openSite(() => ({ url: "https://b.example/x", text: "<p>Words", isCut: true }));
    expect(await pages.read("https://a.example/#part", signal)).toEqual({
      ...{ url: "https://b.example/x", title: "", text: "Words", links: [], contentType: "text/html" },
      sha256: "cc7dcb79bf5b0e9e1c3f6d77d5d18dbee05a7abf7638b2eac3d44db22ed11e54",
      fetchedAt: clock.now().toISOString(),
      remarks: ["Only the first 10485760 bytes of the page were read."],
    });
  });

  it("is cached for five minutes, with any fragment", async () => {
    const { pages, asked, clock } = openSite((_request, count) => ({ text: `<p>${count}` }));
    await pages.read(HOME, signal);
    await clock.advance(4 * A_MINUTE);
    expect((await pages.read("https://a.example/#end", signal)).text).toBe("1");
    await clock.advance(2 * A_MINUTE);
    expect((await pages.read(HOME, signal)).text).toBe("2");
    expect(asked.map(({ headers }) => headers)).toEqual([undefined, undefined]);
  });

  it("is revalidated later, and kept if unchanged", async () => {
    const { pages, asked, clock } = openSite(({ headers }, count) =>
      headers ? { status: 304, headers: new Headers() } : { text: `<p>${count}`, headers: marked('"v1"') },
    );
    const first = await pages.read(HOME, signal);
    for (const _round of [1, 2]) {
      await clock.advance(6 * A_MINUTE);
      const again = await pages.read(HOME, signal);
      expect(again).toEqual({ ...first, fetchedAt: clock.now().toISOString() });
    }
    expect(asked.map(({ headers }) => headers?.["if-none-match"])).toEqual([undefined, '"v1"', '"v1"']);
  });

  it("is read again if it changed, and never cached with no-store", async () => {
    const html = (name: string, value: string) => new Headers({ "content-type": "text/html", [name]: value });
    const changing = openSite((_request, count) => ({
      text: `<p>${count}`,
      headers: html("last-modified", `day ${count}`),
    }));
    await changing.pages.read(HOME, signal);
    await changing.clock.advance(6 * A_MINUTE);
    expect((await changing.pages.read(HOME, signal)).text).toBe("2");
    expect(changing.asked[1]?.headers).toEqual({ "if-modified-since": "day 1" });
    const unkept = html("cache-control", "private, no-store");
    const secret = openSite((_request, count) => ({ text: `<p>${count}`, headers: unkept }));
    await secret.pages.read(HOME, signal);
    expect((await secret.pages.read(HOME, signal)).text).toBe("2");
  });

  it("is evicted from the cache, the oldest first", async () => {
    const { pages, asked } = openSite(() => ({ text: "<p>x" }));
    for (let index = 0; index < 70; index++) await pages.read(`https://a.example/${index}`, signal);
    await pages.read("https://a.example/69", signal);
    expect(asked).toHaveLength(70);
    await pages.read("https://a.example/0", signal);
    expect(asked).toHaveLength(71);
  });

  it("of an unsupported type, or a truncated PDF, is refused and not cached", async () => {
    const { pages, asked } = openSite((_request, count) => ({
      headers: new Headers({ "content-type": count > 2 ? "application/pdf" : "image/png" }),
      isCut: count > 2,
    }));
    for (const message of [/image\/png/, /image\/png/, /more than the 10485760 bytes/])
      await expect(pages.read(HOME, signal)).rejects.toMatchObject({
        code: "GOALD_WEB",
        message: expect.stringMatching(message),
      });
    expect(asked).toHaveLength(3);
  });

  it("without a content type gets the type that its bytes show", async () => {
    const { pages } = openSite(() => ({ text: "<!doctype html><p>x", headers: new Headers() }));
    expect((await pages.read(HOME, signal)).contentType).toBe("text/html");
  });

  it("is revalidated over real HTTP at the polite rate", async () => {
    await using site = await startServiceServer(({ path, headers }) => {
      if (path === "/robots.txt") return { status: 404, body: "" };
      if (headers["if-none-match"] === '"v1"') return { status: 304, body: "" };
      return { status: 200, headers: { "content-type": "text/html; charset=shift_jis", etag: '"v1"' }, body: "<p>x" };
    });
    const clock = fakeClock({ auto: true });
    const http = createHttp({}, { allow: [site.origin] });
    const web = createPoliteWeb({ http, clock, userAgent: "goald/test", obeysRobots: true });
    const pages = createWebPages({ fetchPage: web.get, reader, clock });
    const first = await pages.read(`${site.origin}/a`, signal);
    await clock.advance(6 * A_MINUTE);
    expect(await pages.read(`${site.origin}/a`, signal)).toEqual({ ...first, fetchedAt: clock.now().toISOString() });
    expect(site.requests.map(({ path }) => path)).toEqual(["/robots.txt", "/a", "/a"]);
    expect(site.requests[2]?.headers).toMatchObject({ "if-none-match": '"v1"', "user-agent": "goald/test" });
  });

  it("provides passages for a question", async () => {
    const { pages } = openSite(() => ({ text: "<h1>Bread</h1><p>Flour and water." }));
    const page = await pages.read(HOME, signal);
    expect(await pages.select(page, "flour", 500)).toEqual([
      { id: "p1", headings: [], text: "# Bread\n\nFlour and water." },
    ]);
  });
});

const markdown = (text: string) => splitIntoPassages({ text, contentType: "text/html" });
const filler = (about: string, sentences = 40): string =>
  Array.from({ length: sentences }, (_, index) => `Sentence ${index} says something about ${about}.`).join(" ");
const sections = (...topics: readonly string[]): string =>
  topics.map((topic) => `## All of ${topic}\n\n${filler(topic)}\n\n${filler(topic)}`).join("\n\n");

describe("splitIntoPassages", () => {
  it("returns passages of about 600 to 1,000 tokens with numbered ids and their headings", () => {
    const passages = markdown(`# Farming\n\n${sections("apples", "pears", "quinces")}`);
    expect(passages.map(({ id }) => id)).toEqual(passages.map((_, index) => `p${index + 1}`));
    for (const { text } of passages) expect(estimateTokens(text)).toBeLessThan(1_000);
    expect(estimateTokens(passages[0]?.text ?? "")).toBeGreaterThan(500);
    expect(passages.at(-1)?.headings).toEqual(["Farming"]);
    expect(passages.at(-1)?.text).toMatch(/^## All of quinces/);
  });

  it("keeps that length in a script with about one token per character", () => {
    const passages = markdown("港口的新墙比旧墙高四十厘米。渡轮将在四月恢复航行。".repeat(200));
    expect(passages.length).toBeGreaterThan(3);
    for (const { text } of passages) expect(estimateTokens(text)).toBeLessThan(1_000);
  });

  it("repeats the header rows of tables and the column names of comma-separated values", () => {
    const table = `| Name | Price |\n| --- | --- |\n${"| tea of the house | 12 |\n".repeat(400)}`;
    for (const { text } of markdown(table)) expect(text).toMatch(/^\| Name \| Price \|\n/);
    const values = `name,price\n${"tea of the house,12\n".repeat(400)}`;
    for (const { text } of splitIntoPassages({ text: values, contentType: "text/csv" }))
      expect(text).toMatch(/^name,price\n/);
  });

  it("returns no passages for blank text of any length", () => {
    expect(markdown("")).toEqual([]);
    expect(markdown(`${" \n".repeat(20_000)}`)).toEqual([]);
    expect(markdown(`\`\`\`${" ".repeat(50_000)}x`).map(({ text }) => text.trim())).toContain("x");
  });
});

describe("selectPassages and rankPassages", () => {
  const passages = markdown(sections("apples", "pears", "quinces", "medlars"));

  it("return all passages in order if they fit", () => {
    expect(selectPassages(passages, "medlars", 100_000)).toEqual(passages);
  });

  it("rank by stems and headings, within the token limit", () => {
    const chosen = selectPassages(passages, "How does one farm a medlar?", 2_000);
    expect(chosen[0]?.text).toMatch(/medlars/);
    expect(chosen.at(-1)).toBe(passages[0]);
    expect(chosen.reduce((sum, { text }) => sum + estimateTokens(text), 0)).toBeLessThanOrEqual(2_000);
    expect(rankPassages([{ id: "p1", headings: ["Planted roses"], text: "x" }], "planting a rose")).toHaveLength(1);
  });

  it("return the beginning of the page without a shared word, and a part of it if nothing fits", () => {
    expect(selectPassages(passages, "Zeppelins?", 1_200)[0]).toBe(passages[0]);
    const [part, ...others] = selectPassages(passages, "pears", 100) as [Passage];
    expect(others).toEqual([]);
    expect(estimateTokens(part.text)).toBeLessThanOrEqual(100);
    expect(selectPassages([], "pears", 100)).toEqual([]);
  });

  it("find one sentence among a hundred passages", () => {
    const needle = "The keeper of the lighthouse was called Ingeborg Falk.";
    const topics = Array.from({ length: 100 }, (_, index) => `item ${index}`);
    const text = topics.map((topic, index) => `${filler(topic)}${index === 61 ? ` ${needle}` : ""}`).join("\n\n");
    const question = "Which sentence says something about who kept the lighthouse?";
    const [best] = selectPassages(markdown(text), question, 3_000);
    expect(best?.text).toContain(needle);
  });
});
