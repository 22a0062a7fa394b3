import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "@jest/globals";
import type { Cage, CageLevel } from "#cage/cage.ts";
import { probeCage } from "#cage/find-cage.ts";
import { createPageReader, type PageReader } from "#services/page/read-page.ts";
import { findLevelsHere } from "../../helpers/cage-levels.ts";
import { waitUntil } from "../../helpers/wait-until.ts";
import { inflatingPdf } from "./pdf-bombs.ts";

const SITE = "https://site.example/a/b";
const STUBBORN = new URL("./stubborn-reader.child.ts", import.meta.url);
const HOST = fileURLToPath(new URL("./reading-host.child.ts", import.meta.url));
const reader = createPageReader({ program: STUBBORN, plainTimeLimitMs: 30_000 });
afterAll(() => reader.close());

const read = (html: string, by: PageReader = reader, signal = new AbortController().signal) =>
  by.read(Buffer.from(html), "text/html", SITE, signal);
const isAlive = (pid: number): boolean => readdirSync("/proc").includes(`${pid}`) && !isZombie(pid);
const isZombie = (pid: number): boolean => / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
const levels = findLevelsHere();
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
const HARM: readonly (readonly [act: string, problem: string])[] = [
  ["exit", "Its reader ended with exit code 3."],
  ["heap", "It needed more than 512 MB of memory."],
  ["flood", "Its reader gave an answer that is too long or malformed."],
  ["longer", "Its reader gave an answer that is too long or malformed."],
  ["no json", "Its reader gave an answer that is too long or malformed."],
  ["null answer", "Its reader gave an answer that is too long or malformed."],
  ["strange answer", "Its reader gave an answer that is too long or malformed."],
  ["strange problem", "Its reader gave an answer that is too long or malformed."],
];
/** A PDF is not read a second time. */
const readOnce = (act: string, by: PageReader = reader) =>
  by.read(Buffer.from(`do: ${act}`), "application/pdf", SITE, new AbortController().signal);

describe("a page that makes its reader", () => {
  it.each(HARM)("%s is refused in plain words", async (act, problem) => {
    await expect(readOnce(act)).rejects.toMatchObject({
      code: "GOALD_WEB",
      message: `The page came, but could not be read. ${problem}`,
    });
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
    await expect(readOnce("buffers", small)).rejects.toMatchObject({
      message: "The page came, but could not be read. It needed more than 512 MB of memory.",
    });
    await small.close();
  });

  it("inflate a PDF of 200 KB to 200 MB is refused in plain words, and the host does not grow", async () => {
    const bomb = await inflatingPdf(200);
    const before = process.memoryUsage.rss();
    await expect(reader.read(bomb, "application/pdf", SITE, new AbortController().signal)).rejects.toMatchObject({
      message: "The page came, but could not be read. It needed more than 512 MB of memory.",
    });
    expect(process.memoryUsage.rss() - before).toBeLessThan(50_000_000);
  });

  it("hang is read plainly after its time limit", async () => {
    const hasty = createPageReader({ program: STUBBORN, timeLimitMs: 1_000, plainTimeLimitMs: 30_000 });
    expect((await read("<p>do: hang", hasty)).text).toBe("do: hang");
    await hasty.close();
  });

  it("throw does not bring its words into the message", async () => {
    await expect(read("do: throw")).rejects.toMatchObject({
      message: "The page came, but could not be read. It could not be taken apart.",
    });
  });

  it("answer twice gets one answer, and the next page its own", async () => {
    await read("do: two answers").catch(() => undefined);
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
  const startHost = (...args: readonly string[]) =>
    spawn(process.execPath, [HOST, ...args], { stdio: ["ignore", "pipe", "inherit"] });

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
