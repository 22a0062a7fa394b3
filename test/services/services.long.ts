import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Cage, CageLevel } from "#cage/cage.ts";
import { findCage, probeCage } from "#cage/find-cage.ts";
import { createPageReader, type PageReader } from "#services/page/read-page.ts";
import { selectPassages, splitIntoPassages } from "#services/page/web-pages.ts";
import { findLevelsHere } from "../helpers/cage-levels.ts";
import { type GitServer, makeRepository, startGitServer } from "../helpers/git-server.ts";
import { waitUntil } from "../helpers/waits.ts";
import { useCloning } from "./cloning.ts";
import { inflatingPdf, manyStreamsPdf, twiceDeflatedPdf } from "./pdf-bombs.ts";

/** A clone over TLS, as all of them are but those of these tests: by a certificate for a name that no resolver knows. */

/** Of the machine, as git is. */
const OPENSSL = "openssl";
const NAME = "pinned.test";
const NOWHERE = "http://127.0.0.1:1";
const levels = findLevelsHere();
const { root, at, clone: cloneFrom } = useCloning();
let behind: GitServer;
let server: Server;
let origin: string;

beforeAll(async () => {
  makeRepository(root, "plain.git", [{ path: "README.md", text: "# Plain\n" }]);
  const openssl = (...args: readonly string[]): void => void execFileSync(OPENSSL, args, { cwd: root, stdio: "pipe" });
  const newKey = ["-newkey", "rsa:2048", "-nodes"] as const;
  openssl("req", "-x509", ...newKey, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test");
  openssl("req", ...newKey, "-keyout", "server.key", "-out", "server.csr", "-subj", `/CN=${NAME}`);
  writeFileSync(join(root, "names"), `subjectAltName=DNS:${NAME}`);
  const signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"] as const;
  openssl("x509", "-req", "-in", "server.csr", "-out", "server.pem", ...signing);
  behind = await startGitServer({ root });
  const pair = { key: readFileSync(join(root, "server.key")), cert: readFileSync(join(root, "server.pem")) };
  server = createServer(pair, (incoming, outgoing) => {
    const { url, method, headers } = incoming;
    const onwards = request({ host: "127.0.0.1", port: behind.port, path: url, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onwards);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `https://${NAME}:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await behind[Symbol.asyncDispose]();
});

const clone = (environment: NodeJS.ProcessEnv, atMost?: CageLevel, name = NAME) => {
  const allow = origin.replace(NAME, name);
  const cage = () => (atMost ? probeCage({ atMost }) : findCage());
  const resolve = async () => ["127.0.0.1"];
  return cloneFrom(`${allow}/plain.git`, { environment, allow, resolve, findCage: cage });
};

describe("a clone over TLS", () => {
  it.each(levels)("connects to the checked address under the requested name, without a proxy (%s)", async (atMost) => {
    const proxies = Object.fromEntries(["https_proxy", "HTTPS_PROXY", "ALL_PROXY"].map((name) => [name, NOWHERE]));
    await clone({ ...process.env, ...proxies, GIT_SSL_CAINFO: join(root, "ca.pem") }, atMost);
    expect(await readFile(at("README.md"), "utf8")).toBe("# Plain\n");
  });

  it.each<[title: string, more: Readonly<Record<string, string>>, name: string]>([
    ["a certificate that nobody vouches for", { GIT_SSL_NO_VERIFY: "1" }, NAME],
    ["a certificate for another name", { GIT_SSL_CAINFO: "ca.pem" }, "other.test"],
  ])("fails at %s in any environment", async (_title, more, name) => {
    const environment: NodeJS.ProcessEnv = { ...process.env, ...more };
    if (more.GIT_SSL_CAINFO) environment.GIT_SSL_CAINFO = join(root, more.GIT_SSL_CAINFO);
    const asked = behind.requests.length;
    const words = "could not show that it is the one of that name";
    const refusal = { code: "GOALD_GIT", message: expect.stringContaining(words) };
    await expect(clone(environment, undefined, name)).rejects.toMatchObject(refusal);
    expect(behind.requests).toHaveLength(asked);
  });
});

const SITE = "https://site.example/a/b";
const STUBBORN = new URL("./stubborn-reader.child.ts", import.meta.url);
const reader = createPageReader({ program: STUBBORN, plainTimeLimitMs: 30_000 });
afterAll(() => reader.close());

const read = (html: string, by: PageReader = reader, signal = new AbortController().signal) =>
  by.read(Buffer.from(html), "text/html", SITE, signal);
const isAlive = (pid: number): boolean => readdirSync("/proc").includes(`${pid}`) && !isZombie(pid);
const isZombie = (pid: number): boolean => / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
/** Only these have limits of memory, and end a reader with its host. */
const limited = levels.filter((level) => level !== "off");
const cages = new Map(levels.map((atMost) => [atMost, probeCage({ atMost })]));
const inCage = (atMost: CageLevel) => ({ findCage: () => cages.get(atMost) as Promise<Cage> });

describe("the readers of pages", () => {
  it("start with the first page, end when idle, and start again", async () => {
    const brief = createPageReader({ idleMs: 50 });
    expect(brief.pids).toEqual([]);
    await read("<p>one", brief);
    expect(brief.pids.length).toBe(1);
    await waitUntil("it ended", () => brief.pids.length === 0);
    expect((await read("<p>two", brief)).text).toBe("two");
    await brief.close();
    expect(brief.pids).toEqual([]);
    await expect(read("<p>three", brief)).rejects.toMatchObject({ code: "GOALD_WEB" });
  });

  it("are at most two, of which one is kept", async () => {
    const busy = createPageReader({ program: STUBBORN });
    const counts = new Set<number>();
    const beat = setInterval(() => counts.add(busy.pids.length), 1);
    const pages = await Promise.all(Array.from({ length: 8 }, (_, index) => read(`<p>page ${index}`, busy)));
    clearInterval(beat);
    expect(pages.map((page) => page.text)).toEqual(pages.map((_, index) => `page ${index}`));
    expect(Math.max(...counts)).toBe(2);
    await waitUntil("one is left", () => busy.pids.length === 1);
    await busy.close();
  });

  it("work without a path to anything: modules of the network and of processes are closed", async () => {
    for (const atMost of levels) {
      const open = createPageReader({ program: STUBBORN, ...inCage(atMost) });
      for (const act of ["network", "program"])
        await expect(read(`do: ${act}`, open)).rejects.toMatchObject({ message: expect.stringContaining("apart") });
      expect((await read("<p>calm", open)).text).toBe("calm");
      await open.close();
    }
  });

  it("discard what is printed in them", async () => {
    expect(await read("<p>do: noise")).toMatchObject({ text: "do: noise", remarks: [] });
  });
});

/** What a page does to its reader, and what the observation says. */
const UNREAD = "The page came, but could not be read.";
const TOO_MUCH = "It needed more than 512 MB of memory.";
const MALFORMED = "Its reader gave an answer that is too long or malformed.";
const MALFORMED_BY = ["flood", "longer", "no json", "null answer", "strange answer", "strange problem"];
const HARM: readonly (readonly [act: string, problem: string])[] = [
  ["exit", "Its reader ended with exit code 3."],
  ["heap", TOO_MUCH],
  ...MALFORMED_BY.map((act) => [act, MALFORMED] as const),
];
/** A PDF is not read a second time. */
const readOnce = (act: string, by: PageReader = reader) =>
  by.read(Buffer.from(`do: ${act}`), "application/pdf", SITE, new AbortController().signal);

describe("a page that makes its reader", () => {
  it.each(HARM)("%s is refused in plain words", async (act, problem) => {
    await expect(readOnce(act)).rejects.toMatchObject({ code: "GOALD_WEB", message: `${UNREAD} ${problem}` });
  });

  it("exit is read plainly if it is HTML, else refused, and the next page is read", async () => {
    const page = await read("<title>T</title><h1>Words</h1><p>do: exit");
    expect(page).toMatchObject({ title: "T", text: "# Words\n\ndo: exit" });
    expect(page.remarks[0]).toMatch(/too much to be taken apart/);
    await expect(read("do: exit always")).rejects.toMatchObject({ code: "GOALD_WEB" });
    expect((await read("<h1>calm</h1>")).text).toBe("# calm");
  });

  it.each(limited)("fill buffers in a %s cage is refused in plain words", async (atMost) => {
    const small = createPageReader({ program: STUBBORN, ...inCage(atMost) });
    await expect(readOnce("buffers", small)).rejects.toMatchObject({ message: `${UNREAD} ${TOO_MUCH}` });
    await small.close();
  });

  it("inflate a PDF of 400 KB to 400 MB is refused in plain words, and the host does not grow", async () => {
    const bomb = await inflatingPdf(400);
    const before = process.memoryUsage.rss();
    const reading = reader.read(bomb, "application/pdf", SITE, new AbortController().signal);
    await expect(reading).rejects.toMatchObject({ message: `${UNREAD} ${TOO_MUCH}` });
    expect(process.memoryUsage.rss() - before).toBeLessThan(50_000_000);
  });

  it("hang is read plainly after its time limit", async () => {
    const hasty = createPageReader({ program: STUBBORN, timeLimitMs: 1_000, plainTimeLimitMs: 30_000 });
    expect((await read("<p>do: hang", hasty)).text).toBe("do: hang");
    await hasty.close();
  });

  it("throw does not bring its words into the message", async () => {
    await expect(read("do: throw")).rejects.toMatchObject({ message: `${UNREAD} It could not be taken apart.` });
  });

  it.each(["two answers", "answer later again"])("%s: the next page gets its own answer", async (act) => {
    await read(`do: ${act}`).catch(() => undefined);
    expect((await read("<p>calm")).text).toBe("calm");
  });

  it("wait is given up at once when the caller aborts, and its reader ends", async () => {
    const aborted = createPageReader({ program: STUBBORN });
    const reason = new Error("enough");
    await expect(read("do: wait", aborted, AbortSignal.abort(reason))).rejects.toBe(reason);
    const controller = new AbortController();
    const reading = read("do: wait", aborted, controller.signal);
    await waitUntil("a reader runs", () => aborted.pids.length === 1);
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
    await waitUntil("no reader runs", () => aborted.pids.length === 0);
  });
});

describe("a host", () => {
  /** Starts a host that reads these pages, and prints each with its readers. */
  function startHost(atMost: CageLevel, ...pages: readonly string[]) {
    const program = `
      import { probeCage } from "#cage/find-cage.ts";
      import { createPageReader } from "#services/page/read-page.ts";
      const reader = createPageReader({
        findCage: () => probeCage({ atMost: "${atMost}" }),
        program: new URL("${STUBBORN}"),
        idleMs: 2 ** 31 - 1,
        timeLimitMs: 2 ** 31 - 1,
      });
      for (const page of ${JSON.stringify(pages)}) {
        const reading = reader.read(Buffer.from("<p>" + page), "text/html", "${SITE}", new AbortController().signal);
        if (!page.startsWith("do: ")) await reading;
        while (reader.pids.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        console.log(JSON.stringify({ page, pids: reader.pids }));
      }`;
    const args = ["--input-type=module", "-e", program];
    return spawn(process.execPath, args, { cwd: import.meta.dirname, stdio: ["ignore", "pipe", "inherit"] });
  }

  it("is kept alive by a page that is being read, and not by a warm reader", async () => {
    const host = startHost("strict", "one", "two");
    const [output, end] = await Promise.all([text(host.stdout), once(host, "close")]);
    expect(end).toEqual([0, null]);
    const lines = output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([{ page: "one" }, { page: "two" }]);
    await waitUntil("its reader ended", () => !isAlive(lines[1].pids[0]));
  });

  it.each(limited)("that is killed leaves no busy reader in a %s cage", async (atMost) => {
    const host = startHost(atMost, "one", "do: hang");
    const lines = createInterface({ input: host.stdout })[Symbol.asyncIterator]();
    await lines.next();
    const { pids } = JSON.parse((await lines.next()).value ?? "") as { readonly pids: readonly number[] };
    expect(pids.every(isAlive)).toBe(true);
    host.kill("SIGKILL");
    await waitUntil("its readers ended", () => !pids.some(isAlive));
  });
});

const fillTo = (megabytes: number, piece: string) => piece.repeat(Math.ceil((megabytes * 1024 * 1024) / piece.length));
const fill = (piece: string): string => fillTo(8, piece);
const PDFS: readonly (readonly [string, () => Promise<Uint8Array>])[] = [
  ["1 MB that inflate to 1 GB", () => inflatingPdf(1_000)],
  ["4 MB that inflate to 4 GB", () => inflatingPdf(4_000)],
  ["a few kilobytes, deflated twice", () => twiceDeflatedPdf(1_000)],
  ["8 streams of 125 MB", () => manyStreamsPdf(8, 1_000)],
  ["200 streams of 5 MB", () => manyStreamsPdf(200, 1_000)],
];
const entities = Array.from({ length: 20 }, (_, at) => `<!ENTITY e${at + 1} "${`&e${at};`.repeat(10)}">`).join("");
const PAGES: readonly (readonly [what: string, type: string, page: string])[] = [
  ["nested elements", "text/html", fill("<div><p>x")],
  ["nested tables", "text/html", fill("<table><tr><td>")],
  ["formatting that is never closed", "text/html", fill("<b><i><u><a href=x>")],
  ["attributes", "text/html", `<p ${fill("a='x' ")}>words`],
  ["one long attribute", "text/html", `<p title="${fill("a&amp;")}">words`],
  ["entities", "text/html", fill("&#x41;&nbsp;")],
  ["comments", "text/html", fill("<!--")],
  ["templates", "text/html", fill("<template><svg><math>")],
  ["marks of Markdown", "text/html", `<p>${fill("[]()*_`")}`],
  ["emphasis that a pattern could repeat", "text/html", `<p>${fill("* ** *** _ __ ")}`],
  ["blanks", "text/html", `<p>${fill("\u00a0 \t")}`],
  ["a billion laughs", "application/xml", `<!DOCTYPE x [<!ENTITY e0 "ha">${entities}]><x>&e20;</x>`],
  ["nested XML", "application/xml", fill("<a>")],
  ["JSON of brackets", "application/json", fill("[")],
  ["bytes of no character set", "text/html; charset=iso-2022-jp", fill("\u001b$B\u00ff")],
];

const ITEMS = `<ul>${"<li>one <b>two</b></li>".repeat(12_000)}</ul>`;
/** What a page of five megabytes may be made of; each must be read, somehow. */
const GIANTS: readonly (readonly [what: string, html: string])[] = [
  ["paragraphs", `<article>${fillTo(5, `<p>${"Some words, with commas, here. ".repeat(20)}</p>`)}`],
  ["one paragraph", `<article><p>${fillTo(5, "Some words, with commas, here. ")}`],
  ["short lines", fillTo(5, "<p>word, <b>x</b></p>")],
  ["rows", `<table>${fillTo(5, "<tr><td>1</td><td>2</td></tr>")}`],
  ["links in an article", `<article>${fillTo(5, `<p>${"words, and more, ".repeat(400)}<a href="/x">link</a></p>`)}`],
  ["list items in an article", `<article><p>${"Words, and more. ".repeat(30)}</p>${ITEMS}${fillTo(5, " ")}`],
  ["blocks in blocks", fillTo(5, "<div>")],
  ["marks inside marks", `<p>${fillTo(5, "<b><i>x")}`],
  ["attributes", `<p ${fillTo(5, "a='x' ")}>words`],
  ["blanks", `<pre>${fillTo(5, " ")}x`],
  ["a comment", `words<!-- ${fillTo(5, "-- ")}`],
  ["a script", `words<script>${fillTo(5, "if (a < b) c();\n")}`],
  ["text without a tag", fillTo(5, "Some words. ")],
];

const READ = /^read true$/;
const READ_OR_REFUSED = /^read true$|could not be read\. It (?:needed more|took longer) than/;
const ALL_PAGES = [
  ...PAGES.map(([what, type, page]) => [what, type, page, READ_OR_REFUSED] as const),
  ...GIANTS.map(([what, page]) => [`five megabytes of ${what}`, "text/html", page, READ] as const),
];
/** All bombs go off in the best cage of this machine. */
const CAGES = findLevelsHere()
  .filter((level) => level !== "off")
  .map((level, index) =>
    index === 0 ? ([level, PDFS, ALL_PAGES] as const) : ([level, PDFS.slice(0, 3), []] as const),
  );

describe.each(CAGES)("a bomb in a %s cage", (atMost, pdfs, pages) => {
  const caged = createPageReader(inCage(atMost));
  afterAll(() => caged.close());
  const readBytes = (bytes: Uint8Array, type: string) =>
    caged.read(bytes, type, "https://site.example/", new AbortController().signal).then(
      ({ text }) => ({ outcome: `read ${text.length <= 1_000_000}`, text }),
      (error: Error) => ({ outcome: error.message, text: "" }),
    );
  const calm = { outcome: "read true", text: "calm" };

  it.each([...pdfs])("of a PDF, %s, ends its reader with a reason, and the host does not grow", async (_what, make) => {
    const bytes = await make();
    const before = process.memoryUsage.rss();
    const { outcome } = await readBytes(bytes, "application/pdf");
    expect(outcome).toMatch(/more than 512 MB of memory|longer than 10 s/);
    expect(process.memoryUsage.rss() - before).toBeLessThan(80_000_000);
    expect(await readBytes(Buffer.from("<p>calm"), "text/html")).toEqual(calm);
  });

  if (pages.length > 0)
    it.each([...pages])(
      "of %s is read or refused in its time, and the host does not grow",
      async (_what, type, page, expected) => {
        const bytes = Buffer.from(page);
        const before = process.memoryUsage.rss();
        const { outcome, text } = await readBytes(bytes, type);
        expect(process.memoryUsage.rss() - before).toBeLessThan(150_000_000);
        expect(outcome).toMatch(expected);
        const passages = selectPassages(splitIntoPassages({ text, contentType: type }), "words", 2_000);
        expect(passages.length > 0 || text.trim() === "").toBe(true);
        expect(await readBytes(Buffer.from("<p>calm"), "text/html")).toEqual(calm);
      },
    );
});
