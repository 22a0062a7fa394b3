/** The novel of seed 000, chapter by chapter in one cell, while the daemon dies again and again. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import type { RecordedEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { block, DONE, type Line, onGoals, onTask } from "../helpers/conditional-model.ts";
import { daemonOf } from "../helpers/daemon.ts";
import { endedWith } from "../helpers/goald.ts";
import { makeSeedHome, type SeedHome } from "../helpers/seed-home.ts";

const CHAPTERS = 12;
const KILLS = 6;
const GOAL =
  "I want to write a novel about artificial intelligence, Code Awakening, in twelve chapters. Write novel.md.";
const PROGRAM = `chapters = []
for number in range(1, ${CHAPTERS + 1}):
    summary = chapters[-1][:40] if chapters else 'nothing yet'
    chapters.append(agent.run(f'Write chapter {number} of Code Awakening. Before it: {summary}', str))
with open('novel.md', 'w') as file:
    file.write('\\n'.join(chapters))
'novel.md'`;
const chapter = (number: number): string => `# Chapter ${number}\n\nThe machine wakes up a little more.`;
const NOVEL = Array.from({ length: CHAPTERS }, (_, at) => chapter(at + 1)).join("\n");

const program = (code: string): readonly Line[] => [
  onGoals(({ own }) => own.length === 0, block(code)),
  onGoals(() => true, DONE),
];
/** A chapter takes a while, so that each kill falls into the next one. */
const NOVEL_LINES: readonly Line[] = [
  onTask(/^Write chapter (\d+) of/, ([, number]) => ({ text: `RESULT:\n${chapter(Number(number))}`, delayMs: 700 })),
  ...program(PROGRAM),
];

/** Ends the process without a word, and so has no outcome that is known. */
const BOOM = `export default {
  name: "boom", label: "Boom", summary: "ends the process.", args: { type: "object", properties: {} },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: false }, effect: "at-most-once",
  async run() { process.exit(9); },
};`;
const DEADLY_PROGRAM = `for number in range(30):
    think(f'Thought {number}')
    try:
        boom()
    except CommandError:
        pass`;

const AGENT = ["--name", "T", "--role", "a writer", "--goal", GOAL, "--form", "code", "--approve", "never"];
const start = async ({ goald }: SeedHome): Promise<void> => {
  endedWith(0, await goald.ask(["run", "-d", ...AGENT]));
};
const interruptionsIn = (log: readonly RecordedEvent[]): number => {
  const epochs = log.flatMap((event) => (event.type === "call-interrupted" ? [event.epoch] : []));
  return new Set(epochs).size;
};

describe("the twelve chapters of a novel, written unattended in one cell", () => {
  it("are finished although the daemon is killed with -9 six times, and no chapter is written twice", async () => {
    await using home = await makeSeedHome(NOVEL_LINES);
    await using daemon = daemonOf(home.goald);
    await start(home);
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
    expect(interruptionsIn(log)).toBe(KILLS);
    expect(await home.file("novel.md")).toBe(NOVEL);
    expect(home.seen.length).toBeLessThanOrEqual(CHAPTERS + 2 + KILLS);
  }, 180_000);

  it("control: a cell that thinks and then ends the process each time is paused at the seventh death", async () => {
    await using home = await makeSeedHome(program(DEADLY_PROGRAM));
    await using daemon = daemonOf(home.goald);
    await home.goald.write("commands/boom.ts", BOOM);
    await start(home);
    const deaths = async (): Promise<number> => {
      if (!daemon.isHeld()) await home.goald.ask(["up"]);
      await sleep(200);
      return interruptionsIn(await home.log());
    };
    await daemon.until("four deaths", async () => (await deaths()) === 4);
    await daemon.until("three more", async () => (await deaths()) === 7);
    await daemon.until("the pause", async () => replay(await home.log()).paused !== null);
    const log = await home.log();
    expect(replay(log).paused).toMatchObject({ code: "crash-loop", reason: expect.stringContaining("died 7 times") });
  }, 180_000);
});
