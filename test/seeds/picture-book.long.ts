import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import type { Seen } from "../helpers/conditional-model.ts";
import { MEDIA_KEY, pictureAnswer, png, startMediaServer } from "../helpers/media-server.ts";
import { failure } from "../helpers/openai-answers.ts";
import { makeSeedHome } from "../helpers/seed-home.ts";
import { BOOK_GOAL, BOOK_LINES, CHAPTERS, chapterText, REFUSED } from "./picture-book.ts";

const REFUSAL =
  "Your request was rejected as a result of our safety system. Image descriptions generated from your prompt may contain text that is not allowed by our safety system.";
const sizeOf = ({ all }: Seen): number => all.length;

describe("the picture book of seed 000", () => {
  it("G14: has twelve chapters and pictures, one of them mended by the code, and prompts that do not grow", async () => {
    await using media = await startMediaServer({
      image: ({ prompt }) => (prompt.includes("knives") ? failure(400, REFUSAL) : pictureAnswer(png(8, 8))),
    });
    await using home = await makeSeedHome(BOOK_LINES, {
      env: { GOALD_IMAGES_BASE_URL: media.baseUrl, GOALD_IMAGES_API_KEY: MEDIA_KEY },
    });
    await home.run("code", { goal: BOOK_GOAL, flags: ["--max-steps", "none"] });
    await home.log();
    expect(media.violations).toEqual([]);

    // One picture was refused and asked for again in milder words, all others were asked for once.
    expect(media.images).toHaveLength(CHAPTERS.length + 1);
    expect(media.images[REFUSED]?.prompt).toBe("A cook stirs a soup, and all sneeze.");
    const book = (await home.file("alice.md")) ?? "";
    expect([...book.matchAll(/^## (.*)$/gm)].map(([, title]) => title)).toEqual([...CHAPTERS]);
    for (const [index] of CHAPTERS.entries()) {
      const file = `images/${String(index + 1).padStart(2, "0")}.png`;
      expect(book).toContain(`](${file})`);
      expect(book).toContain(chapterText(String(index + 1)));
      const bytes = await readFile(join(home.goald.home, "workspace/t", file));
      expect(bytes.subarray(1, 4).toString()).toBe("PNG");
    }

    // A chapter knows the earlier ones by a variable only, and the last prompt is no longer than the third.
    const chapters = CHAPTERS.map((title, index) =>
      home.seen.filter(({ task }) => task?.startsWith(`Write chapter ${index + 1}, ${title}.`)),
    );
    expect(chapters.map((requests) => requests.length)).toEqual(CHAPTERS.map(() => 1));
    const last = chapters.at(-1)?.[0] as Seen;
    expect(last.task).toContain("In chapter 11 Alice");
    // Recalls are in the newest message; all others have the last four sub-tasks only.
    const before = last.messages.slice(0, -1).map(({ content }) => content);
    expect(before.join("\n")).not.toContain("Chapter 9, line");
    const sizes = home.seen.filter(({ task }) => task !== undefined).map(sizeOf);
    const early = Math.max(...sizes.slice(4, 12));
    expect(Math.max(...sizes)).toBeLessThan(early * 1.1);
    // Control: all chapters together are longer than that.
    expect(book.length).toBeGreaterThan(early * 0.5);
  }, 120_000);
});
