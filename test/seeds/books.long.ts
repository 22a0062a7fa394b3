/** The novel of seed 000, chapter by chapter in one cell, while the daemon dies again and again. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { daemonOf, endedWith } from "../helpers/goald.ts";
import { block, DONE, type Line, onGoals, onTask, type Seen } from "../helpers/models.ts";
import { failure } from "../helpers/openai-server.ts";
import { makeSeedHome } from "../helpers/seed-home.ts";
import { MEDIA_KEY, pictureAnswer, png, startMediaServer } from "../helpers/service-servers.ts";

const KILLS = 6;
const GOAL =
  "I want to write a novel about artificial intelligence, Code Awakening, in twelve chapters. Write novel.md.";
const chapter = (number: number): string => `# Chapter ${number}\n\nThe machine wakes up a little more.`;

const AGENT = ["--name", "T", "--role", "a writer", "--goal", GOAL, "--form", "code", "--approve", "never"];

describe("the twelve chapters of a novel, written unattended in one cell", () => {
  const CHAPTERS = 12;
  const PROGRAM = `chapters = []
for number in range(1, ${CHAPTERS + 1}):
    summary = chapters[-1][:40] if chapters else 'nothing yet'
    chapters.append(agent.run(f'Write chapter {number} of Code Awakening. Before it: {summary}', str))
with open('novel.md', 'w') as file:
    file.write('\\n'.join(chapters))
'novel.md'`;

  const NOVEL = Array.from({ length: CHAPTERS }, (_, at) => chapter(at + 1)).join("\n");

  /** A chapter takes a while, so that each kill falls into the next one. */
  const NOVEL_LINES: readonly Line[] = [
    onTask(/^Write chapter (\d+) of/, ([, number]) => ({ text: `RESULT:\n${chapter(Number(number))}`, delayMs: 700 })),
    onGoals(({ own }) => own.length === 0, block(PROGRAM)),
    onGoals(() => true, DONE),
  ];

  it("are finished although the daemon is killed with -9 six times, and no chapter is written twice", async () => {
    await using home = await makeSeedHome(NOVEL_LINES);
    await using daemon = daemonOf(home.goald);
    endedWith(0, await home.goald.ask(["run", "-d", ...AGENT]));
    const written = async () => (await home.log()).filter(({ type }) => type === "frame-popped").length;
    for (let kill = 1; kill <= KILLS; kill++) {
      const before = await written();
      await daemon.until("one more chapter", async () => (await written()) > before);
      await daemon.kill();
      endedWith(0, await home.goald.ask(["up"]));
    }
    await daemon.until("the end", async () => (await home.log()).some(({ type }) => type === "turn-finished"));
    const log = await home.log();
    expect(log.map(({ type }) => type)).not.toContain("agent-paused");
    const interruptions = log.flatMap((event) => (event.type === "call-interrupted" ? [event.epoch] : []));
    expect(new Set(interruptions).size).toBe(KILLS);
    expect(await home.file("novel.md")).toBe(NOVEL);
    expect(home.seen.length).toBeLessThanOrEqual(CHAPTERS + 2 + KILLS);
  }, 180_000);
});

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
    const writing = home.seen.filter(({ task }) => task?.startsWith("Write chapter"));
    expect(writing.map(({ task = "" }) => /^Write chapter \d+, (.*?)\. The/.exec(task)?.[1])).toEqual([...CHAPTERS]);
    const last = writing.at(-1) as Seen;
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

// The second example of seed 000: a picture book of twelve chapters, written by self-calls.

const BOOK_GOAL = "Help me make a picture book about Alice in Wonderland, and give me the Markdown file.";

const CHAPTERS = [
  "Down the Rabbit Hole",
  "The Pool of Tears",
  "A Caucus-Race and a Long Tale",
  "The Rabbit Sends in a Little Bill",
  "Advice from a Caterpillar",
  "Pig and Pepper",
  "A Mad Tea-Party",
  "The Queen's Croquet Ground",
  "The Mock Turtle's Story",
  "The Lobster Quadrille",
  "Who Stole the Tarts?",
  "Alice's Evidence",
] as const;
/** The chapter whose first picture is refused. */
const REFUSED = 6;

const PROGRAM = `titles = ${JSON.stringify(CHAPTERS)}
book = ['# Alice in Wonderland\\n']
summary = 'Nothing yet.'
for number, title in enumerate(titles, 1):
    text = agent.run(f'Write chapter {number}, {title}. The story so far: {summary}', return_type=str)
    summary = agent.run(f'Sum this up in one sentence: {text}', return_type=str)
    scene = agent.run(f'Describe a picture for: {summary}', return_type=str)
    file = f'images/{number:02}.png'
    try:
        generate_image(scene, file)
    except CommandError as error:
        scene = agent.run(f'This picture was refused: {error}. Describe a milder one for: {scene}', return_type=str)
        generate_image(scene, file)
    book.append(f'## {title}\\n\\n{text}\\n\\n![{scene}]({file})\\n')
with open('alice.md', 'w') as f:
    f.write('\\n'.join(book))
'alice.md'`;

const sentence = (number: string): string => `In chapter ${number} Alice meets somebody strange and goes on.`;
/** About 300 tokens each. */
const chapterText = (number: string): string =>
  Array.from(
    { length: 12 },
    (_, line) => `Chapter ${number}, line ${line + 1}: Alice looks around and wonders at what she sees in this place.`,
  ).join(" ");

const BOOK_LINES: readonly Line[] = [
  onTask(/^Write chapter (\d+), .*The story so far: (.*)$/s, ([, number = ""]) => chapterText(number)),
  onTask(/^Sum this up in one sentence: Chapter (\d+),/, ([, number = ""]) => sentence(number)),
  onTask(/^Describe a picture for: In chapter (\d+)/, ([, number = ""]) =>
    Number(number) === REFUSED ? "A cook throws knives at a baby." : `Alice in a wide landscape, scene ${number}.`,
  ),
  onTask(
    /^This picture was refused: [\s\S]*safety system[\s\S]*A cook throws knives/,
    () => "A cook stirs a soup, and all sneeze.",
  ),
  onGoals(({ last, own }) => own.length > 0 && last.includes("alice.md"), DONE),
  onGoals(({ own }) => own.length === 0, block(PROGRAM)),
];
