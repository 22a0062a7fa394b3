import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { estimateMessage } from "#prompt/tokens.ts";
import { readPng } from "../helpers/react-methods/commands/_picture.ts";
import {
  CHANNELS,
  type ReactServices,
  startReactServices,
  writeManyMethods,
  writePythonMethods,
  writeReactMethods,
} from "../helpers/react-methods/methods.ts";
import { makeSeedHome, type SeedHome } from "../helpers/seed-home.ts";
import { linesOf, REACT_TASKS, type ReactTask } from "./react-tasks.ts";

/** The seed's numbers of steps of its best model. */
const STEPS: Readonly<Record<string, number>> = { A: 4, B: 7, C: 11, D: 11, E: 10, F: 15 };
const MAX_PROMPT_TOKENS = 8_000;
const LOCATION = '{"city":"Berlin","latitude":52.52,"longitude":13.405}';

/** What a task has sent when it is done. */
const SENT: Readonly<Record<string, (services: ReactServices) => void>> = {
  A: ({ sent }) => expect(sent).toEqual([]),
  B: ({ sent }) => expect(sent).toEqual([{ path: "/discord", body: { msg: "light rain" } }]),
  C: ({ sent }) =>
    expect(sent).toEqual([{ path: "/slack/messages", body: { msg: "light rain", channel_id: CHANNELS[1]?.id } }]),
  D: ({ sent }) => {
    const days = ["☀️ sunny", "☁️ cloudy", "🌧️ light rain", "⛈️ thunderstorm", "❄️ snow"];
    const dates = days.map((day, at) => `2026-11-${23 + at} ${day}`);
    expect(sent).toEqual([{ path: "/discord", body: { msg: `Weather forecast: ${dates.join(", ")}` } }]);
  },
  E: ({ sent }) => {
    expect(sent).toHaveLength(1);
    const { msg, image } = sent[0]?.body ?? {};
    expect(msg).toMatch(/^Hello from Space! The Pillars of Creation: /);
    expect(readPng(Buffer.from(String(image), "base64"))).toMatchObject({ width: 4, height: 3 });
  },
  F: ({ sent }) => {
    expect(sent).toHaveLength(1);
    const { msg, channel_id: channel } = sent[0]?.body ?? {};
    expect(channel).toBe(CHANNELS[1]?.id);
    const [, price] = /^MSFT closed lowest in week \d+, on \d{4}-\d\d-\d\d, at ([\d.]+)$/.exec(String(msg)) ?? [];
    // No price of the service is lower than 400, but for one day.
    expect(Number(price)).toBeLessThanOrEqual(400);
  },
};

async function runTask(task: ReactTask, home: SeedHome, services: ReactServices): Promise<void> {
  await home.run("react", { goal: task.goal, flags: ["--max-steps", "40", "--approve", "never"] });
  expect(home.seen).toHaveLength(STEPS[task.id] as number);
  const log = await home.log();
  expect(log.filter(({ type }) => ["reply-rejected", "repetition-noticed", "command-denied"].includes(type))).toEqual(
    [],
  );
  const results = log.flatMap((event) => (event.type === "command-finished" ? [event.observation] : []));
  expect(results.filter(({ status, text }) => status !== "ok" || String(text).includes("Remark:"))).toEqual([]);
  SENT[task.id]?.(services);
}

const tokensOf = ({ server }: SeedHome): number =>
  Math.max(
    ...server.chats.map(({ messages }) => messages.reduce((sum, { content }) => sum + estimateMessage(content), 0)),
  );

describe.each([0, 1_000])("R14: the six tasks of seed 001 over fifteen methods and %d more", (more) => {
  it.each(REACT_TASKS.map((task) => [task.id, task] as const))(
    "%s takes as many steps as in the seed, none of them lost, and short prompts",
    async (_id, task) => {
      await using services = await startReactServices();
      await using home = await makeSeedHome(linesOf(task), { env: { GOALD_SANDBOX_LOCATION: LOCATION } });
      const commands = join(home.goald.home, "commands");
      await writeManyMethods(commands, more);
      await writeReactMethods(commands, services.origin);
      await runTask(task, home, services);
      expect(tokensOf(home)).toBeLessThan(MAX_PROMPT_TOKENS);
    },
    60_000,
  );
});

describe("R14: the six tasks of seed 001 over methods/*.py", () => {
  it.each(REACT_TASKS.map((task) => [task.id, task] as const))(
    "%s takes as many steps as in the seed, and nothing is denied or remarked",
    async (_id, task) => {
      await using services = await startReactServices();
      await using home = await makeSeedHome(linesOf(task), { env: { GOALD_SANDBOX_LOCATION: LOCATION } });
      await writePythonMethods(home.goald.home, services.origin);
      await runTask(task, home, services);
    },
    60_000,
  );
});
