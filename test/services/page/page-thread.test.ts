import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { createPageReader, type PageReader } from "#services/page/read-page.ts";

const read = (html: string, by: PageReader) =>
  by.read(new TextEncoder().encode(html), "text/html", "https://site.example/a/b", new AbortController().signal);

describe("the page thread", () => {
  it("starts with the first page, ends when idle, and starts again", async () => {
    const brief = createPageReader({ idleMs: 50 });
    expect(brief.isRunning).toBe(false);
    await read("<p>one", brief);
    expect(brief.isRunning).toBe(true);
    for (let waitedMs = 0; brief.isRunning && waitedMs < 30_000; waitedMs += 20) await delay(20);
    expect(brief.isRunning).toBe(false);
    expect((await read("<p>two", brief)).text).toBe("two");
    await brief.close();
    await expect(read("<p>three", brief)).rejects.toMatchObject({ code: "GOALD_WEB" });
  });

  it("keeps the process alive only while it reads a page", async () => {
    const program = fileURLToPath(new URL("./unattended-page.child.ts", import.meta.url));
    const child = spawn(process.execPath, [program], {
      stdio: ["ignore", "pipe", "inherit"],
      timeout: 15_000,
    });
    const [said, how] = await Promise.all([text(child.stdout), once(child, "close")]);
    expect([said, how]).toEqual(["one true\ntwo true\n", [0, null]]);
  }, 20_000);

  it("discards what is printed in it", async () => {
    const noisy = createPageReader({ program: new URL("./noisy-worker.child.ts", import.meta.url) });
    for (const word of ["one", "two"])
      expect(await read(`<p>${word}`, noisy)).toMatchObject({ text: word, remarks: [] });
    await noisy.close();
  });
});
