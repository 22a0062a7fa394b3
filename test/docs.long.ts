import { describe, expect, it } from "@jest/globals";
import { frozenFile } from "./helpers/golden.ts";
import { maskVolatile, PAGES, recordPage } from "./helpers/page-transcripts.ts";

describe("the transcript of a page", () => {
  it.each(PAGES)("of $path is what goald prints now, with one request for each reply", async (page) => {
    const { text, requests } = await recordPage(page);
    expect(maskVolatile(text)).toBe(maskVolatile(await frozenFile(page.path, text)));
    expect(requests).toBe(page.replies.length);
  });

  it("may differ in process ids, times and spans alone (control)", () => {
    const shown = (pid: number, time: string, steps: number): string =>
      maskVolatile(`The daemon is up: pid ${pid}\n${steps} steps, ${time}, $0.06. 3 s ago\n`);
    expect(shown(7, "2026-11-26T22:51:13.932Z", 5)).toBe(shown(81, "2026-12-01T08:00:00.000Z", 5));
    expect(shown(7, "2026-11-26T22:51:13.932Z", 5)).not.toBe(shown(7, "2026-11-26T22:51:13.932Z", 6));
  });
});
