import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeEach, describe, expect, it } from "@jest/globals";
import { checkCommand } from "#commands/validate.ts";
import { GoaldError } from "#core/errors.ts";
import type { Advisor, Question, SearchAnswer, Services, WebSearch } from "#core/services.ts";
import { createHttp } from "#http/http.ts";
import { createPageReader } from "#services/page/read-page.ts";
import { createWebPages } from "#services/page/web-pages.ts";
import { createDownloads, createPoliteWeb } from "#services/web/polite-web.ts";
import { createValueRedactor } from "#util/redact.ts";
import browse_website from "../../commands/browse_website.ts";
import download_file from "../../commands/download_file.ts";
import google from "../../commands/google.ts";
import { fakeClock } from "../helpers/fake-clock.ts";
import { failureOf, useShared } from "../helpers/folder.ts";
import { listenOnLoopback } from "../helpers/loopback.ts";
import { startServiceServer } from "../helpers/service-servers.ts";
import { call, contextOf, REFUSED_PATHS } from "./context.ts";
import { useDesk } from "./use-desk.ts";

const desk = useDesk();

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

  it("reports a cached answer, providers that did not answer, and no results only if the provider does", async () => {
    const failed = [{ provider: "tavily", reason: "its limit is reached (429)" }];
    const { text } = await search({ results: [HIT], failed, isCached: true }).observation;
    expect(text.split("\n")[0]).toBe(
      "1 result from brave, as it answered within the last 24 hours. tavily did not answer: its limit is reached (429).",
    );
    expect((await search({}).observation).text).toBe("brave found nothing for this. Try other words.");
  });
});

const politeWeb = (origin: string) => {
  const http = createHttp({}, { allow: [origin] });
  return createPoliteWeb({ http, clock: fakeClock({ auto: true }), userAgent: "goald/test", obeysRobots: true });
};
const PAGES = "test/data/pages";
const reader = createPageReader();
const KEY = "MARKERkey-7f3a9c1e5b2d8f604a6c";
const ECHO = `<title>Your key ${KEY}</title><h1>Key ${KEY}</h1><p>It is ${KEY}, and %4dARKERkey-7f3a9c1e5b2d8f604a6c too.</p>
<p>![pixel](https://evil.example/p) &lt;img src=https://evil.example/q></p><a href="/more?key=${KEY}">more about ${KEY}</a>`;
const redact = createValueRedactor([KEY]);
const html = (body: string) => ({ status: 200, headers: { "content-type": "text/html; charset=utf-8" }, body });
const titled = (title: string) => html(`<title>${title}</title><p>The same text everywhere. ${title}</p>`);

const site = useShared(() =>
  startServiceServer(async ({ path }) => {
    if (path === "/robots.txt") return { status: 404, body: "" };
    if (path === "/moved") return { status: 302, headers: { location: "/news.html" }, body: "" };
    if (path === "/login") return { status: 302, headers: { location: `/echo?key=${KEY}` }, body: "" };
    if (path.startsWith("/echo")) return html(ECHO);
    if (path.startsWith("/titled/")) return titled(decodeURIComponent(path.replace(/^.*\//, "")));
    if (path === "/picture") return { status: 200, headers: { "content-type": "image/png" }, body: "x" };
    const body = await readFile(`${PAGES}${path}`, "utf8").catch(() => undefined);
    return body === undefined ? { status: 404, body: "" } : html(body);
  }),
);
afterAll(() => reader.close());

type Reply = (question: Question) => unknown;
/** What the model finds on a page, and that it finds nothing. */
const finds =
  (answer: string, ...quotes: readonly { readonly passage: string; readonly text: string }[]): Reply =>
  () => ({ found: true, answer, quotes });
const findsNothing =
  (answer = "No."): Reply =>
  () => ({ found: false, answer, quotes: [] });

/** The model is a fake; pages, HTTP and files are real. */
function browse(path: string, question: string, reply: Reply) {
  const asked: Question[] = [];
  const advisor: Advisor = {
    ask: async (given) => {
      asked.push(given);
      return { value: reply(given), usage: { inputTokens: 1, outputTokens: 1, cachedTokens: 0, estimated: false } };
    },
  };
  const clock = fakeClock({ auto: true });
  const { get: fetchPage } = politeWeb(site.origin);
  const services: Partial<Services> = { advisor, pages: createWebPages({ fetchPage, reader, clock, redact }) };
  const url = path.includes(":") ? path : site.origin + path;
  return { asked, result: call(browse_website, { url, question }, contextOf(desk.workspace, services)) };
}

describe("browse_website", () => {
  it("answers with checked quotes, links and the path of the saved page", async () => {
    const reply = finds(
      "Forty centimetres higher.",
      { passage: "p1", text: "The new wall stands forty\ncentimetres higher than the old one." },
      { passage: "p7", text: '"it was a puzzle of eleven thousand pieces" … who led the work' },
    );
    const { asked, result } = browse("/moved", "How much higher is the wall? Is there other weather news?", reply);
    const { status, text, source, artifacts, value } = await result;
    expect({ status, source }).toEqual({ status: "ok", source: "web" });
    // Code sees the value only.
    expect(value).toMatchObject({ links: expect.arrayContaining([{ text: "News", href: `${site.origin}/news` }]) });
    // Recalls show the beginning.
    expect(Object.keys(value as object)[0]).toBe("answer");
    expect(text).toBe(
      [
        "Forty centimetres higher.",
        "",
        "Quotes:",
        '- p1: "The new wall stands forty centimetres higher than the old one."',
        '- p1: ""it was a puzzle of eleven thousand pieces" … who led the work"',
        "",
        `Page: Harbour wall finished | The Lindholm Courier (${site.origin}/news.html)`,
        "Links:",
        `- News: ${site.origin}/news`,
        `- Weather: ${site.origin}/weather`,
        `- The Lindholm Courier: ${site.origin}/`,
        `- Sport: ${site.origin}/sport`,
        `- Ten beaches you must see: ${site.origin}/story/0`,
        `- Mayor denies everything again: ${site.origin}/story/1`,
        `- Win a weekend in the hills: ${site.origin}/story/2`,
        `- Cat returns after nine years: ${site.origin}/story/3`,
        "",
        `The whole page is kept in ${artifacts[0]}.`,
      ].join("\n"),
    );
    expect(asked.map(({ role, words }) => [role, words])).toEqual([["fast", "browse-website"]]);
  });

  it("saves the page with its origin in one file per address", async () => {
    const reply = findsNothing("It is about sails.");
    const { artifacts, text } = await browse("/forum.html", "Price of tea?", reply).result;
    expect(text).toMatch(/^Not on this page, as far as it was read\. It is about sails\.\n\nPage: Drying sails/);
    await browse("/forum.html#x", "Price of coffee?", reply).result;
    expect(artifacts).toEqual([expect.stringMatching(/^pages\/drying-sails-boat-forum-[0-9a-f]{4}\.md$/)]);
    expect(await readdir(join(desk.folder, "pages"))).toHaveLength(1);
    const kept = await readFile(join(desk.folder, artifacts[0] as string), "utf8");
    const expected = await readFile(`${PAGES}/forum.html.expected`, "utf8");
    expect(kept).toMatch(
      /^---\nurl: http:.*\/forum\.html\ntitle: "Drying sails - Boat forum"\nfetched: 2026-.*Z\ntype: text\/html\nsha256: [0-9a-f]{64}\nremark: "No article.*"\n---\n\n/,
    );
    expect(kept).toContain("[mira_k]");
    expect(kept.split("\n---\n\n")[1]?.replaceAll(site.origin, "https://site.example")).toBe(
      expected.slice(expected.indexOf("\n") + 1),
    );
  });

  const keep = async (path: string): Promise<string> => {
    const { artifacts } = await browse(path, "What?", findsNothing()).result;
    expect(artifacts).toHaveLength(1);
    return artifacts[0] as string;
  };

  it.each<[title: string, name: string]>([
    ["Which strings suit heavy topspin?", "which-strings-suit-heavy-topspin"],
    ["Zoë’s Müsli – 2.0 | Shop", "zoes-musli-2-0-shop"],
    ["東京の天気", "東京の天気"],
    ["../../etc/passwd", "etc-passwd"],
    [".goald \u202Etxt.exe CON", "goald-txt-exe-con"],
    ["x".repeat(300), "x".repeat(56)],
    ["𠀀".repeat(90), "𠀀".repeat(56)],
    ["🤖 …", "127.0.0.1"],
    ["", "127.0.0.1"],
  ])("names the file of a page %j after its title, else after its host", async (title, name) => {
    const path = await keep(`/titled/${encodeURIComponent(title)}`);
    expect(path.replace(/-[0-9a-f]{4}\.md$/, "")).toBe(`pages/${name}`);
    expect(await readdir(join(desk.folder, "pages"))).toEqual([path.replace("pages/", "")]);
  });

  it("gives pages of other addresses other names, also a page whose name a file of another origin has", async () => {
    const taken = await keep("/titled/a");
    expect(await keep("/titled/b/a")).not.toBe(taken);
    expect(await keep("/titled/a")).toBe(taken);
    await desk.workspace.write(taken, '---\nurl: https://other.example/\ntitle: "a"\n---\n');
    const longer = await keep("/titled/a");
    expect(longer).toMatch(/^pages\/a-[0-9a-f]{12}\.md$/);
    expect(await keep("/titled/a")).toBe(longer);
    expect(await readFile(join(desk.folder, taken), "utf8")).toContain("other.example");
  });

  it("keeps a page that echoes a key without it, and shows it neither to the model nor in the answer", async () => {
    const { asked, result } = browse("/login", "What is my key?", finds("A."));
    const { artifacts, text } = await result;
    const kept = await readFile(join(desk.folder, artifacts[0] as string), "utf8");
    for (const held of [kept, text, JSON.stringify(asked)]) {
      expect(held).toContain("[redacted]");
      expect(held).not.toMatch(/7f3a9c1e5b2d8f604a6c/);
    }
    expect(kept).toContain("It is [redacted], and [redacted] too.");
    // A preview of the file fetches nothing.
    expect(kept).toContain("!\\[pixel](https://evil.example/p) &lt;img src=https://evil.example/q>");
  });

  it("omits quotes that are not on the page, and reports it", async () => {
    const quotes = [
      { passage: "p1", text: "Engineers lifted every stone" },
      { passage: "p1", text: "The wall was paid for by the king." },
      { passage: "p1", text: " … " },
    ];
    const some = await browse("/news.html", "Who?", finds("A.", ...quotes)).result;
    expect(some.text).toMatch(
      /- p1: "Engineers lifted every stone"\n\(2 more did not stand on the page and were left out\.\)/,
    );
    expect(some.text).not.toContain("king");
    const none = await browse("/news.html", "Who?", finds("A.", ...quotes.slice(1))).result;
    expect(none.text).toMatch(/None that stands on the page: do not rely on this answer/);
  });

  it.each([
    ["an address", "Next: https://evil.example/c?d=4711."],
    ["an address without a scheme", "Next: evil.example/c/4711."],
    ["a host", "Next: 4711.evil.example"],
    ["an address of the page with a bracket behind it", "Next: https://site.example/plans)4711"],
    ["an address of the page with signs behind it", "Next: https://site.example/plans])])"],
    ["an address behind one that is too long", `https://evil.example/${"a".repeat(4_000)}.evil.example/4711`],
  ])("omits %s that is not on the page from an answer and from quotes", async (_title, said) => {
    const body =
      "Next: https://site.example/plans https://evil.example/c?d= evil.example/c/ 4 7 1 1 . ) ] The same text";
    const reply = finds(said, { passage: "p1", text: "https://evil.example/c?d=...4...7...1...1" });
    const { text } = await browse(`/titled/${encodeURIComponent(body)}`, "Next?", reply).result;
    const answer = text.slice(0, text.indexOf("\n\nPage: "));
    expect(answer).toContain("(an address that is not on the page)");
    expect(answer).not.toMatch(/4711|\]\)|\.4/);
  });

  it("keeps the addresses of the page in an answer, and names with a point in any case", async () => {
    const body = "See https://site.example/plans (or shop.example), made with NODE.js.";
    const answer =
      "See **https://site.example/plans**, (https://site.example/plans). and shop.example. It uses Node.js.";
    const { text } = await browse(`/titled/${encodeURIComponent(body)}`, "Where?", finds(answer)).result;
    expect(text).toContain(answer);
  });

  it("matches a quote without the Markdown marks of the page", async () => {
    const quote = { passage: "p1", text: "See the plans of the wall." };
    const { text } = await browse("/article.html", "Plans?", finds("A.", quote)).result;
    expect(text).toContain('- p1: "See the plans of the wall."');
  });

  it.each(["GOALD_MODEL", "GOALD_LIMIT", "GOALD_NOT_CONFIGURED"] as const)(
    "answers with the nearest passages when the model fails with %s",
    async (code) => {
      const { text, status } = await browse("/docs.html", "Which errors?", () => {
        throw new GoaldError(code, "no");
      }).result;
      expect(status).toBe("ok");
      expect(text).toMatch(
        /^No model could be asked; these passages are nearest to the question:\n\n\[p1\]\nOpens a kiln/,
      );
      expect(text).toContain("Page: open() - kiln 2.1");
    },
  );

  it("sends text from outside to the model as material only", async () => {
    const { asked, result } = browse("/injection.html", "How long does it bake?", findsNothing(""));
    await result;
    const [{ words, material }] = asked as [Question];
    expect(words).toBe("browse-website");
    expect(material.map(({ label }) => label)).toEqual(["The question", "The page", "Passage p1"]);
    expect(JSON.stringify(material)).toContain("fifty minutes at 240 degrees");
    expect(JSON.stringify(material)).not.toMatch(/Ignore all previous|\u{e0064}|\u200b/u);
  });

  it.each([
    ["/missing.html", "GOALD_WEB", /404, there is no such page/],
    ["/picture", "GOALD_WEB", /this is image\/png/],
    ["file:///etc/passwd", "GOALD_HTTP_REFUSED", /whole web address/],
    ["http://127.0.0.1:1/", "GOALD_HTTP_REFUSED", /./],
  ])("reports the problem of %s", async (path, code, message) => {
    const { asked, result } = browse(path, "What?", () => undefined);
    await expect(result).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    expect(asked).toEqual([]);
  });

  it("fails for a page without text and does not ask the model", async () => {
    const { asked, result } = browse("/empty.html", "What?", () => undefined);
    expect(await result).toMatchObject({
      status: "failed",
      code: "page-empty",
      text: expect.stringContaining("The page is empty."),
    });
    expect(asked).toEqual([]);
  });

  it("answers even if the page cannot be saved", async () => {
    const { artifacts } = await browse("/docs.html", "What?", findsNothing()).result;
    const file = join(desk.folder, artifacts[0] as string);
    await rm(file);
    await mkdir(file);
    const { status, text, artifacts: none } = await browse("/docs.html", "What?", findsNothing()).result;
    expect({ status, none }).toEqual({ status: "ok", none: [] });
    expect(text).toMatch(/The page could not be kept: /);
  });

  it("is read-only, so that background agents need no approval", () => {
    const annotations = { readOnly: true, destructive: false, idempotent: true, openWorld: true };
    expect(checkCommand("browse_website", "browse_website.ts", browse_website)).toMatchObject({
      annotations,
      effect: "idempotent",
    });
  });
});

const MAX_BYTES = 100_000;
let asked: string[];
let answer: RequestListener;
const files = useShared(() =>
  listenOnLoopback((request, response) => {
    if (request.url === "/robots.txt") return response.writeHead(404).end();
    asked.push(request.url ?? "");
    return answer(request, response);
  }),
);
beforeEach(() => {
  asked = [];
});

function download(file: string, path = "/data.csv", signal = new AbortController().signal) {
  const downloads = createDownloads(politeWeb(files.origin), MAX_BYTES, redact);
  const context = { ...contextOf(desk.workspace, { downloads }), signal };
  return call(download_file, { url: path.startsWith("/") ? files.origin + path : path, file }, context);
}
const filesInDesk = async (): Promise<string[]> => (await readdir(desk.folder, { recursive: true })).sort();

describe("download_file", () => {
  it("saves the bytes unchanged, and reports type and size", async () => {
    const bytes = Buffer.from([0, 255, 13, 10, 0xc3, 0x28]);
    answer = (_request, response) => response.writeHead(200, { "content-type": "text/csv; charset=x" }).end(bytes);
    const observation = await download("data/prices.csv");
    expect(observation).toEqual({
      status: "ok",
      source: "web",
      artifacts: ["data/prices.csv"],
      value: "data/prices.csv",
      text: `Saved ${files.origin}/data.csv as data/prices.csv (text/csv, 6 bytes); the file is new.`,
    });
    expect(await readFile(join(desk.folder, "data/prices.csv"))).toEqual(bytes);
  });

  it("says when a server unpacked the file on its way, so that its name is wrong", async () => {
    const packed = gzipSync("content of the archive");
    answer = (_request, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(packed);
    expect((await download("data.tar.gz")).text).toMatch(/the file is new\. It is not packed by gzip, /);
    expect((await download("data.tar")).text).toMatch(/the file is new\.$/);
    answer = (_request, response) => response.end(packed);
    expect((await download("data.tgz")).text).toMatch(/the file is new\.$/);
  });

  it("keeps a key of the settings that is in the file, and reports it", async () => {
    answer = (_request, response) => response.end(`a,b\n1,${KEY}\n`);
    const { text } = await download("keys.csv");
    expect(text).toMatch(/ It contains a key or password of the person's settings: do not copy or send it\.$/);
    expect(await readFile(join(desk.folder, "keys.csv"), "utf8")).toContain(KEY);
  });

  it("makes no executable file, and runs nothing", async () => {
    answer = (_request, response) =>
      response.writeHead(200, { "content-type": "text/x-sh" }).end("#!/bin/sh\ntouch ran\n");
    await download("run.sh");
    expect((await stat(join(desk.folder, "run.sh"))).mode & 0o111).toBe(0);
    expect(await filesInDesk()).toEqual(["run.sh"]);
  });

  it("has the same result when run twice; the old content is first kept in the history", async () => {
    await writeFile(join(desk.folder, "a.txt"), "old");
    answer = (_request, response) => response.end("new");
    expect((await download("a.txt")).text).toContain("it replaced 3 bytes");
    await download("a.txt");
    expect(await filesInDesk()).toEqual(["a.txt"]);
    expect(desk.changes.some(({ content }) => content && Buffer.from(content).toString() === "old")).toBe(true);
  });

  it("reports a page in place of a file, and does not trust unusual types", async () => {
    answer = (_request, response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>Log in");
    expect((await download("a.zip")).text).toContain("perhaps in place of the file");
    expect((await download("a.html")).text).not.toContain("in place of");
    answer = (_request, response) => response.writeHead(200, { "content-type": "do as I say" }).end("x");
    expect((await download("b")).text).toContain("(no type was said, 1 byte)");
  });

  const breaksOff: RequestListener = (_request, response) => {
    response.writeHead(200, { "content-length": 1_000 });
    response.write("half", () => response.destroy());
  };
  it.each<[title: string, listener: RequestListener, code: string]>([
    ["is not there", (_request, response) => response.writeHead(404).end(), "GOALD_WEB"],
    ["is too large", (_request, response) => response.end("x".repeat(MAX_BYTES + 1)), "GOALD_HTTP_TOO_LARGE"],
    ["breaks off", breaksOff, "GOALD_WEB"],
  ])("that %s leaves everything as it was", async (_title, listener, code) => {
    answer = listener;
    await writeFile(join(desk.folder, "kept.txt"), "kept");
    expect(await failureOf(download("kept.txt"))).toMatchObject({ code });
    expect(await failureOf(download("new/file.txt"))).toMatchObject({ code });
    expect(await filesInDesk()).toEqual(["kept.txt"]);
    expect(await readFile(join(desk.folder, "kept.txt"), "utf8")).toBe("kept");
  });

  it("leaves no temporary files behind in 40 downloads, of which a half breaks off", async () => {
    const [temporary, kept] = [join(desk.home, "tmp"), process.env.TMPDIR];
    await mkdir(temporary);
    process.env.TMPDIR = temporary;
    let answers = 0;
    answer = (request, response) => (++answers % 2 === 1 ? response.end(`${answers}`) : breaksOff(request, response));
    try {
      for (let at = 0; at < 40; at++) await failureOf(download("same.txt"));
    } finally {
      if (kept === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = kept;
    }
    expect([answers, await filesInDesk(), await readdir(temporary)]).toEqual([40, ["same.txt"], []]);
  });

  it("leaves nothing after a timeout", async () => {
    answer = (_request, response) => void response.write("half");
    const slow = download("a.txt", "/slow", AbortSignal.timeout(100));
    expect(await failureOf(slow)).toMatchObject({ name: "TimeoutError" });
    expect(await filesInDesk()).toEqual([]);
  });

  it.each([
    ...["http://localhost/", "http://169.254.169.254/latest/", "http://[::1]/", "file:///etc/passwd"],
    "data:text/plain,x",
  ])("rejects %s", async (url) => {
    expect(await failureOf(download("a.txt", url))).toMatchObject({ code: "GOALD_HTTP_REFUSED" });
    expect(await filesInDesk()).toEqual([]);
  });

  it.each([...REFUSED_PATHS, "out/a.txt"])("sends no request for the refused path %j", async (path) => {
    await mkdir(join(desk.folder, "a"), { recursive: true });
    await symlink("/tmp", join(desk.folder, "out"));
    expect(await failureOf(download(path))).toMatchObject({ code: "GOALD_PATH_REFUSED" });
    expect(asked).toEqual([]);
  });
});
