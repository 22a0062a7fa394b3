import { writeFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { useFolder } from "./helpers/folder.ts";
import { frozenFile } from "./helpers/golden.ts";
import { replyWith } from "./helpers/models.ts";
import { maskVolatile, PAGES, recordPage } from "./helpers/page-transcripts.ts";

const inFolder = useFolder();

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

  it("has a request too many when the kill hits a request under way (control)", async () => {
    const path = inFolder("page.md");
    const calls = ['goald run -d "Plan" --name Chef', "kill -9 $(goald status --json | jq .pid)", "goald attach chef"];
    writeFileSync(path, ["```console", ...calls.map((call) => `$ ${call}`), "```"].join("\n"));
    const slow = { text: replyWith({ name: "task_complete", args: { reason: "Planned." } }), delayMs: 5_000 };
    const { text, requests } = await recordPage({
      path,
      replies: [slow, slow],
      waits: [["kill", "[ -s requests.log ]"]],
    });
    expect(text).toContain("Completed: Planned.");
    expect(requests).toBe(2);
  });
});
