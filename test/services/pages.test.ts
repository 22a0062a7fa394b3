import { globSync, readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "@jest/globals";
import type { Passage } from "#core/services.ts";
import { readPlainHtml } from "#services/page/plain-html.ts";
import { createPageReader, type PageReader } from "#services/page/read-page.ts";
import {
  createWebPages,
  estimateTokens,
  type FetchedPage,
  type FetchPage,
  rankPassages,
  selectPassages,
  splitIntoPassages,
} from "#services/page/web-pages.ts";
import { fakeClock } from "../helpers/fake-clock.ts";
import { plainPdf } from "./pdf-bombs.ts";

const FOLDER = "test/data/pages";
const TYPES: Readonly<Record<string, string>> = {
  html: "text/html",
  csv: "text/csv",
  md: "text/markdown; charset=utf-8",
  json: "application/json",
  xml: "application/rss+xml",
  pdf: "application/pdf",
};
const SAID_BY_HEADER: Readonly<Record<string, string>> = { "windows-1251.html": 'text/html; Charset="windows-1251"' };
const URL = "https://site.example/a/b";
const signal = new AbortController().signal;
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

const reader = createPageReader();
afterAll(() => reader.close());
const read = (page: string | Uint8Array, type: string | null = "text/html", by: PageReader = reader) =>
  by.read(typeof page === "string" ? bytesOf(page) : page, type, URL, signal);

const refusal = (words: string) => ({ code: "GOALD_WEB", message: expect.stringContaining(words) });

describe("a page", () => {
  const names = globSync("*.expected", { cwd: FOLDER }).map((name) => name.replace(/\.expected$/, ""));

  it.each(names.sort())("%s is read as its .expected file", async (name) => {
    const expected = readFileSync(`${FOLDER}/${name}.expected`, "utf8");
    const said = JSON.parse(expected.slice(0, expected.indexOf("\n")));
    const type = SAID_BY_HEADER[name] ?? TYPES[name.split(".").at(-1) as string] ?? "";
    const page = await read(readFileSync(`${FOLDER}/${name}`), type);
    expect(`${page.text}\n`).toBe(expected.slice(expected.indexOf("\n") + 1));
    expect({ title: page.title, remarks: page.remarks, links: page.links.map(({ href }) => href) }).toEqual(said);
  });

  it("without a content type is recognized by its first bytes", async () => {
    expect((await read("<!doctype html><p>Words", null)).text).toBe("Words");
    expect((await read("<p>Words", "application/octet-stream")).text).toBe("<p>Words");
    expect((await read(readFileSync(`${FOLDER}/paper.pdf`), "nonsense")).title).toBe("On sails");
    expect((await read("\ufeff\uff21 mark", "text/plain")).text).toBe("\uff21 mark");
  });

  it.each([
    ["image/png", bytesOf("\u0089PNG")],
    ["image/svg+xml", bytesOf("<svg/>")],
    ["application/zip", bytesOf("PK")],
    ["video/mp4", bytesOf("x")],
    ["text/plain", Uint8Array.of(1, 0, 0, 2)],
    [null, Uint8Array.of(1, 0, 0, 2)],
  ])("of type %s is refused", async (type, bytes) => {
    const hint = expect.stringContaining("download_file");
    await expect(read(bytes, type)).rejects.toMatchObject({ ...refusal(type ?? "octet-stream"), hint });
  });

  it.each(["%PDF-1.4 nothing else", ""])(
    "with the PDF type and the content %j is refused with a reason",
    async (text) => {
      await expect(read(text, "application/pdf")).rejects.toMatchObject(refusal("damaged"));
    },
  );

  it("of 310 PDF pages is read up to page 300, with a remark", async () => {
    const pages = Array.from({ length: 310 }, (_, index) => `Words of page ${index + 1}.`);
    const { text, remarks } = await read(plainPdf(pages), "application/pdf");
    expect(remarks).toEqual(["Only the first 300 of 310 pages were read."]);
    expect(text).toMatch(/## Page 300\n\nWords of page 300\.$/);
  });

  it("of only pictures gets a remark, and a locked PDF an error", async () => {
    const { text, remarks } = await read(plainPdf(["", ""]), "application/pdf");
    expect([text, ...remarks]).toEqual(["", "There is no text in this PDF: its pages are probably pictures."]);
    const key = "ab".repeat(32);
    const locked = `/ID [<${key}><${key}>] /Encrypt << /Filter /Standard /V 1 /R 2 /O <${key}> /U <${key}> /P -44 >>`;
    const reading = read(plainPdf(["x"], locked), "application/pdf");
    await expect(reading).rejects.toMatchObject(refusal("locked with a password"));
  });

  it("loses invisible characters in its text, title and links", async () => {
    const page = await read(
      "<title>a\u202eb\u001b]0;x\u0007</title><p><a href='/x'>c\u200b\u{e0041}d</a> \u00ade\ud800f 👩‍🚒 می‌خواهم",
    );
    expect(page).toMatchObject({
      title: "ab",
      text: "[cd](https://site.example/x) e\ufffdf 👩‍🚒 می‌خواهم",
      links: [{ text: "cd" }],
    });
  });

  it.each([
    `<meta http-equiv="Refresh" content="0; URL='/new'">`,
    `<html><head><meta http-equiv=refresh content="5;url=https://site.example/new"></head><body></body></html>`,
  ])("reports the address that it forwards to: %s", async (html) => {
    expect((await read(html)).remarks).toContain("The page leads on to https://site.example/new.");
  });

  it("has absolute http(s) links, each once, at most 200", async () => {
    const page = await read(
      `<base href="/docs/"><a href="a#x">A</a> <a href="a#y">again</a> <a href="javascript:alert(1)">no</a> <a href="mailto:x@y.z">no</a>
       <a href="//other.example/b">B</a> <a href="https://name:word@c.example/">C</a> <a href="#top">no</a> <a href="/${"x".repeat(2000)}">no</a>`,
    );
    expect(page.links).toEqual([
      { text: "A", href: "https://site.example/docs/a" },
      { text: "B", href: "https://other.example/b" },
      { text: "C", href: "https://c.example/" },
    ]);
    const links = Array.from({ length: 500 }, (_, index) => `<a href="/${index}">link number ${index}</a>`);
    expect((await read(links.join(" "))).links).toHaveLength(200);
  });
});

describe("a page with an article and more", () => {
  const nav = '<nav><a href="/">Home</a> <a href="/news">News</a></nav>';
  const prose =
    "This is a rather long sentence, with commas, that says something and goes on, as people do, until it ends.";
  const article = `<main><h1>Title</h1>${`<p>${`${prose} `.repeat(3)}</p>`.repeat(2)}`;
  const sixty = (item: (index: number) => string): string =>
    Array.from({ length: 60 }, (_, index) => item(index)).join("");

  const post = (index: number) => `<div class="post"><a href="/u">user</a><p>item ${index}: ${prose}</p></div>`;
  const row = (index: number) => `<tr><td>item ${index}</td><td>${index}</td></tr>`;
  const link = (index: number) => `<li><a href="/${index}">item ${index}</a></li>`;
  it.each([
    ["a thread", `<div>${sixty(post)}</div>`],
    ["a table below it", `${article}<table>${sixty(row)}</table>`],
    ["a list of links below it", `${article}<ul>${sixty(link)}</ul>`],
    ["questions and answers", `<dl>${sixty((index) => `<dt>item ${index}</dt><dd>${prose}</dd>`)}</dl>`],
    ["blocks without a name", sixty((index) => `<div>item ${index}: ${prose}<br><br></div>`)],
  ])("is read whole: %s", async (_what, html) => {
    const { text } = await read(`<!doctype html><html><head><title>T</title></head><body>${nav}${html}</body></html>`);
    expect(new Set(text.match(/item \d+/g)).size).toBe(60);
  });

  it("is read without links to other stories", async () => {
    const beside = sixty(
      (index) => `<div><h3><a href="/${index}">Another story, number ${index}, of which nobody asked</a></h3></div>`,
    );
    const page = `<!doctype html><html><body>${nav}<div>${article}</div><div>${beside}</div></body></html>`;
    expect((await read(page)).text).not.toContain("Another story");
  });
});

describe("a hostile page", () => {
  const SOME_WORDS = "Some words, with commas, here. ";
  const HOSTILE: readonly (readonly [string, string, RegExp])[] = [
    ["a long article", `<article>${`<p>${SOME_WORDS.repeat(20)}</p>`.repeat(300)}`, /^Some words/],
    ["100,000 elements", "<p>word, <b>x</b></p>".repeat(50_000), /^word, x\n\nword/],
    ["50,000 nested blocks", `${"<div>".repeat(50_000)}deep words`, /^deep words$/],
    ["50,000 nested tables", `${"<table><tr><td>".repeat(50_000)}deep`, /deep$/],
    ["a table of 20,000 rows", `<table>${"<tr><td>1</td><td>2</td></tr>".repeat(20_000)}`, /^\| 1 \| 2/],
    ["300,000 attributes", `<p ${"a='x' ".repeat(300_000)}>words`, /^words$/],
    ["quotes that stay open", `${'<a href="x '.repeat(100_000)}`, /^/],
    ["150,000 titles that stay open", `${"<title>a".repeat(150_000)}<p>words`, /^words$/],
    ["nothing but angle brackets", "<".repeat(300_000), /^<<</],
    ["100,000 entities", "&amp;".repeat(100_000), /^&&&/],
    [
      "an article with a large program in it",
      `<body><article><h1>T</h1><script>${"if (a && b < c) d();".repeat(50_000)}</SCRIPT ><p>${SOME_WORDS.repeat(20)}</article>`,
      /^##? T\n\nSome words/,
    ],
    ["a comment that stays open", `words<!--${"-".repeat(500_000)}`, /^words/],
    ["a tag that stays open", `words <b ${"x ".repeat(200_000)}`, /^words/],
    [
      "50,000 spaces behind a fence (GHSA-m2wr-7m3r-p52c)",
      `<pre>\`\`\`${" ".repeat(50_000)}x</pre><p>\`\`\`${"&#32;".repeat(5_000)}x`,
      /^````/,
    ],
  ];

  it("of 81,000 paragraphs has its entities decoded as a browser does", async () => {
    const page = await read(`${"<p>x</p>".repeat(81_000)}Espa&Ntilde;a &alpha; &frac12;`);
    expect(page.remarks).toEqual(["The page has very many parts: all of its text, without its structure."]);
    expect(page.text.normalize("NFC")).toMatch(/\nx\n\nEspaÑa α ½$/);
  });

  it.each(HOSTILE)("of %s is read within its time limit", async (_what, html, expected) => {
    expect((await read(html)).text).toMatch(expected);
  });

  it("keeps its structure except where it is nested too deeply", async () => {
    const article = readFileSync(`${FOLDER}/article.html`, "utf8");
    const page = await read(article.replace("<h2>", `${"<div>on ".repeat(2_000)}deep${"</div>".repeat(2_000)}<h2>`));
    expect(page.remarks).toEqual(["The page is nested very deeply; what lies deepest has lost its structure."]);
    expect(page.text).toMatch(/^The harbour(?:.|\n)*\n\non on (?:on )+deep\n\n## Higher than before\n\n/);
  });
});

describe("readPlainHtml", () => {
  it("marks headings, items and cells, and skips what is not text", () => {
    const html = `<title>A &amp; B</title><h2>Head</h2><ul><li>one<li>two</ul><table><tr><td>1<td>2</table>
      <script>if (a < b) "</p>"</script><svg><title>no</title></svg><select><option>no</select><!-- no > --><![CDATA[no]]>end`;
    const { title, text } = readPlainHtml(html, URL);
    expect(title).toBe("A & B");
    expect(text.replace(/\n+/g, "\n")).toBe("\n## Head\n- one\n- two\n| 1 | 2\nend");
  });

  it.each([
    ["a quote that stays open", `<p>one</p><a href="/x>two</a><p class='b'>three <a href='/y'>four</a>`],
    ["a title that stays open", "<title>T<p>one</p>two three <b>four"],
    ["a CDATA section that stays open", "one <![CDATA[ <b>two</b> three four"],
  ])("reads the text after %s", (_what, html) => {
    expect(readPlainHtml(html, URL).text).toMatch(/three\s+four$/);
  });

  it("takes a link's first address, decoded, and shows no invisible characters in its text", () => {
    const html = `<a title="href=/no" HREF='/a?b=1&amp;c=2' href="/no">c\u200bd&shy;e<p>f</a> <a href="javascript:x()">no</a>`;
    expect(readPlainHtml(html, URL).links).toEqual([{ text: "cde f", href: "https://site.example/a?b=1&c=2" }]);
  });
});

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
    await pages.read(HOME, signal);
    await clock.advance(4 * A_MINUTE);
    expect((await pages.read("https://a.example/#end", signal)).text).toBe("1");
    await clock.advance(2 * A_MINUTE);
    expect((await pages.read(HOME, signal)).text).toBe("2");
    await clock.advance(-1);
    expect((await pages.read(HOME, signal)).text).toBe("3");
    expect(asked.map(({ headers }) => headers)).toEqual([undefined, undefined, undefined]);
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
