import { afterAll, describe, expect, it } from "@jest/globals";
import { createPageReader } from "#services/page/read-page.ts";
import { createWebPages } from "#services/page/web-pages.ts";
import { fakeClock } from "../../helpers/fake-clock.ts";

const FIVE_MB = 5 * 1024 * 1024;
const reader = createPageReader();
afterAll(() => reader.close());
const fill = (piece: string): string => piece.repeat(Math.ceil(FIVE_MB / piece.length));

/** What a page of five megabytes may be made of; each must be read, somehow, while others go on. */
const GIANTS: readonly (readonly [string, string])[] = [
  ["paragraphs", `<article>${fill(`<p>${"Some words, with commas, here. ".repeat(20)}</p>`)}`],
  ["one paragraph", `<article><p>${fill("Some words, with commas, here. ")}`],
  ["short lines", fill("<p>word, <b>x</b></p>")],
  ["rows", `<table>${fill("<tr><td>1</td><td>2</td></tr>")}`],
  ["links in an article", `<article>${fill(`<p>${"words, and more, ".repeat(400)}<a href="/x">link</a></p>`)}`],
  [
    "list items in an article",
    `<article><p>${"Words, and more. ".repeat(30)}</p><ul>${"<li>one <b>two</b></li>".repeat(12_000)}</ul>${fill(" ")}`,
  ],
  ["blocks in blocks", fill("<div>")],
  ["marks inside marks", `<p>${fill("<b><i>x")}`],
  ["attributes", `<p ${fill("a='x' ")}>words`],
  ["blanks", `<pre>${fill(" ")}x`],
  ["a comment", `words<!-- ${fill("-- ")}`],
  ["a script", `words<script>${fill("if (a < b) c();\n")}`],
  ["text without a tag", fill("Some words. ")],
];

describe("a page of five megabytes", () => {
  it.each(GIANTS)("of %s is read without blocking the host", async (_what, html) => {
    let longestMs = 0;
    let last = performance.now();
    const beat = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - last);
      last = performance.now();
    }, 10);
    const fetchPage = async (url: string) => ({
      url,
      status: 200,
      headers: new Headers({ "content-type": "text/html" }),
      bytes: new TextEncoder().encode(html),
      isCut: false,
    });
    const pages = createWebPages({ fetchPage, reader, clock: fakeClock() });
    const page = await pages.read("https://a.example/", new AbortController().signal);
    clearInterval(beat);
    expect(page.text.length).toBeLessThanOrEqual(1_000_000);
    expect((await pages.select(page, "words", 2_000)).length).toBeGreaterThanOrEqual(page.text.trim() === "" ? 0 : 1);
    console.log(
      `${page.text.length} characters, the host was busy for ${Math.round(longestMs)} ms at most; ${page.remarks.join(" ")}`,
    );
  });
});
