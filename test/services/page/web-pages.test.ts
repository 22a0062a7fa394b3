import { afterAll, describe, expect, it } from "@jest/globals";
import { createHttp } from "#http/http.ts";
import { createPageReader } from "#services/page/read-page.ts";
import { createWebPages, type FetchedPage, type FetchPage } from "#services/page/web-pages.ts";
import { createPoliteWeb } from "#services/web/polite-web.ts";
import { fakeClock } from "../../helpers/fake-clock.ts";
import { startServiceServer } from "../../helpers/service-server.ts";

const reader = createPageReader();
afterAll(() => reader.close());
const signal = new AbortController().signal;
const A_MINUTE = 60_000;

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
      url: "https://b.example/x",
      title: "",
      text: "Words",
      links: [],
      contentType: "text/html",
      sha256: "cc7dcb79bf5b0e9e1c3f6d77d5d18dbee05a7abf7638b2eac3d44db22ed11e54",
      fetchedAt: clock.now().toISOString(),
      remarks: ["Only the first 10485760 bytes of the page were read."],
    });
  });

  it("is cached for five minutes, with any fragment", async () => {
    const { pages, asked, clock } = openSite((_request, count) => ({ text: `<p>${count}` }));
    await pages.read("https://a.example/", signal);
    await clock.advance(4 * A_MINUTE);
    expect((await pages.read("https://a.example/#end", signal)).text).toBe("1");
    await clock.advance(2 * A_MINUTE);
    expect((await pages.read("https://a.example/", signal)).text).toBe("2");
    expect(asked.map(({ headers }) => headers)).toEqual([undefined, undefined]);
  });

  it("is revalidated later, and kept if unchanged", async () => {
    const { pages, asked, clock } = openSite(({ headers }, count) =>
      headers ? { status: 304, headers: new Headers() } : { text: `<p>${count}`, headers: marked('"v1"') },
    );
    const first = await pages.read("https://a.example/", signal);
    for (const _round of [1, 2]) {
      await clock.advance(6 * A_MINUTE);
      const again = await pages.read("https://a.example/", signal);
      expect(again).toEqual({ ...first, fetchedAt: clock.now().toISOString() });
    }
    expect(asked.map(({ headers }) => headers?.["if-none-match"])).toEqual([undefined, '"v1"', '"v1"']);
  });

  it("is read again if it changed, and never cached with no-store", async () => {
    const changing = openSite((_request, count) => ({
      text: `<p>${count}`,
      headers: new Headers({ "content-type": "text/html", "last-modified": `day ${count}` }),
    }));
    await changing.pages.read("https://a.example/", signal);
    await changing.clock.advance(6 * A_MINUTE);
    expect((await changing.pages.read("https://a.example/", signal)).text).toBe("2");
    expect(changing.asked[1]?.headers).toEqual({ "if-modified-since": "day 1" });
    const secret = openSite((_request, count) => ({
      text: `<p>${count}`,
      headers: new Headers({ "content-type": "text/html", "cache-control": "private, no-store" }),
    }));
    await secret.pages.read("https://a.example/", signal);
    expect((await secret.pages.read("https://a.example/", signal)).text).toBe("2");
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
      await expect(pages.read("https://a.example/", signal)).rejects.toMatchObject({
        code: "GOALD_WEB",
        message: expect.stringMatching(message),
      });
    expect(asked).toHaveLength(3);
  });

  it("without a content type gets the type that its bytes show", async () => {
    const { pages } = openSite(() => ({ text: "<!doctype html><p>x", headers: new Headers() }));
    expect((await pages.read("https://a.example/", signal)).contentType).toBe("text/html");
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
    const page = await pages.read("https://a.example/", signal);
    expect(await pages.select(page, "flour", 500)).toEqual([
      { id: "p1", headings: [], text: "# Bread\n\nFlour and water." },
    ]);
  });
});
