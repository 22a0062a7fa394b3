import { describe, expect, it } from "@jest/globals";
import { daemonOf } from "../helpers/daemon.ts";
import { endedWith, type Goald, lookInto, makeGoald } from "../helpers/goald.ts";
import {
  MEDIA_KEY,
  type MediaReplies,
  type MediaServer,
  pictureAnswer,
  png,
  startMediaServer,
} from "../helpers/media-server.ts";
import { numberedModel } from "../helpers/numbered-model.ts";
import type { Answer } from "../helpers/openai-answers.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";

const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"];
/** The price of the largest picture in the shipped prices of gpt-image-1. */
const TOKENS = { input_tokens: 4, output_tokens: 6_240, total_tokens: 6_244 };
const COST = (4 * 5 + 6_240 * 40) / 1e6;
const paint = (file: string) => ({ name: "generate_image", args: { prompt: "a red ball", file, size: "512x512" } });

/** The chat model runs on this machine and has no price, so it costs nothing. */
async function working(image: MediaReplies["image"], work: (goald: Goald, media: MediaServer) => Promise<void>) {
  await using media = await startMediaServer({ ...(image ? { image } : {}) });
  const reply = numberedModel(["a", "b", "c"].map(paint));
  await using server = await startOpenAIServer({ reply, embeddings: null });
  await using goald = await makeGoald({
    OPENAI_BASE_URL: server.baseUrl,
    SMART_LLM: "local",
    GOALD_MEMORY_EMBEDDER: "offline",
    GOALD_IMAGES_BASE_URL: media.baseUrl,
    GOALD_IMAGES_API_KEY: MEDIA_KEY,
  });
  await work(goald, media);
  expect(media.violations).toEqual([]);
  expect((await lookInto(goald)).problems).toEqual([]);
}
const painted = (): Answer => {
  const answer = pictureAnswer(png(8, 8)) as { status: number; body: object };
  return { ...answer, body: { ...answer.body, usage: TOKENS } };
};
async function shown(goald: Goald) {
  const { stdout } = endedWith(0, await goald.ask(["show", "t", "--json"]));
  return JSON.parse(stdout) as { state: string; costUsd: number; lost: { usd: number } };
}
const lastLine = (stdout: string) => JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Record<string, unknown>;

describe("pictures that the real program pays for", () => {
  it("stop the agent at its budget; with a larger budget it continues and counts nothing twice", async () => {
    await working(painted, async (goald, media) => {
      const stopped = endedWith(6, await goald.ask([...RUN, "--budget", "0.3"]));
      expect(media.images).toHaveLength(2);
      const reason = "The budget of 0.3 US dollars is reached: 0.4992 US dollars are spent. ";
      expect(lastLine(stopped.stdout)).toMatchObject({
        ...{ outcome: "budget", reason: expect.stringContaining(reason), exitCode: 6 },
        costUsd: expect.closeTo(2 * COST, 6),
      });
      expect(await shown(goald)).toMatchObject({ state: "paused: budget", costUsd: expect.closeTo(2 * COST, 6) });
      expect(endedWith(0, await goald.ask(["ps", "-a"])).stdout).toContain("$0.50");
      expect(endedWith(0, await goald.ask(["show", "t", "--step", "1"])).stdout).toContain(
        "Spent on models: 4 tokens in (0 cached), 6240 out, $0.25\n",
      );
      const { stdout } = endedWith(0, await goald.ask(["resume", "t", "--budget", "5"]));
      expect(stdout).toMatch(/ tokens in and \d+ out, \$0\.75\.\n/);
      expect(media.images).toHaveLength(3);
      expect(await goald.read("workspace/t/_goald/report.md")).toContain("- $0.75\n");
    });
  });

  it("count as possibly charged if kill -9 comes before the answer, and are not requested again", async () => {
    const image = (_request: unknown, _server: string): Answer => (first-- > 0 ? { fault: "stall" } : painted());
    let first = 1;
    await working(image, async (goald, media) => {
      const running = goald.start([...RUN, "--budget", "5"]);
      await media.asked(1);
      running.kill("SIGKILL");
      expect(await running.ended).toMatchObject({ signal: "SIGKILL" });
      await daemonOf(goald).kill();
      endedWith(0, await goald.ask(["resume", "t", "--json"]));
      expect(media.images).toHaveLength(3);
      const { costUsd, lost } = await shown(goald);
      expect(costUsd).toBeCloseTo(2 * COST, 6);
      expect(lost.usd).toBeCloseTo((4_000 * 5 + 6_240 * 40) / 1e6, 6);
    });
  });
});
