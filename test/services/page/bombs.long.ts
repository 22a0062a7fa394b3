import { afterAll, describe, expect, it } from "@jest/globals";
import { probeCage } from "#cage/find-cage.ts";
import { createPageReader } from "#services/page/read-page.ts";
import { findLevelsHere } from "../../helpers/cage-levels.ts";
import { inflatingPdf, manyStreamsPdf, twiceDeflatedPdf } from "./pdf-bombs.ts";

const MEGABYTES_8 = 8 * 1024 * 1024;
const fill = (piece: string): string => piece.repeat(Math.ceil(MEGABYTES_8 / piece.length));
const PDFS: readonly (readonly [string, () => Promise<Uint8Array>])[] = [
  ["1 MB that inflate to 1 GB", () => inflatingPdf(1_000)],
  ["4 MB that inflate to 4 GB", () => inflatingPdf(4_000)],
  ["a few kilobytes, deflated twice", () => twiceDeflatedPdf(1_000)],
  ["8 streams of 125 MB", () => manyStreamsPdf(8, 1_000)],
  ["200 streams of 5 MB", () => manyStreamsPdf(200, 1_000)],
];
const entities = Array.from({ length: 20 }, (_, at) => `<!ENTITY e${at + 1} "${`&e${at};`.repeat(10)}">`).join("");
const PAGES: readonly (readonly [string, string, string])[] = [
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

/** All bombs go off in the best cage of this machine. */
const CAGES = findLevelsHere()
  .filter((level) => level !== "off")
  .map((level, index) => (index === 0 ? ([level, PDFS, PAGES] as const) : ([level, PDFS.slice(0, 3), []] as const)));

describe.each(CAGES)("a bomb in a %s cage", (atMost, pdfs, pages) => {
  const reader = createPageReader({ findCage: () => probeCage({ atMost }) });
  afterAll(() => reader.close());
  const read = (bytes: Uint8Array, type: string) =>
    reader.read(bytes, type, "https://site.example/", new AbortController().signal).then(
      ({ text }) => `read ${text.length <= 1_000_000}`,
      (error: Error) => error.message,
    );

  it.each([...pdfs])("of a PDF, %s, ends its reader with a reason, and the host does not grow", async (_what, make) => {
    const bytes = await make();
    const before = process.memoryUsage.rss();
    expect(await read(bytes, "application/pdf")).toMatch(/more than 512 MB of memory|longer than 10 s/);
    expect(process.memoryUsage.rss() - before).toBeLessThan(80_000_000);
    expect(await read(Buffer.from("<p>calm"), "text/html")).toBe("read true");
  });

  if (pages.length > 0)
    it.each([...pages])(
      "of %s is read or refused in its time, and the host does not grow",
      async (_what, type, page) => {
        const bytes = Buffer.from(page);
        const before = process.memoryUsage.rss();
        expect(await read(bytes, type)).toMatch(/^read true$|could not be read\. It (?:needed more|took longer) than/);
        expect(process.memoryUsage.rss() - before).toBeLessThan(150_000_000);
        expect(await read(Buffer.from("<p>calm"), "text/html")).toBe("read true");
      },
    );
});
