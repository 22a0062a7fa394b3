/** A recorded run in which the agent notes, corrects and hides memories replays to the same rows, recalls and prompts. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { CommandCall } from "#core/call.ts";
import type { RecordedEvent } from "#core/event.ts";
import { openSqliteReader } from "#store/sqlite/open-store.ts";
import { endedWith, type Goald, jsonOf, linesOf, lookInto } from "../helpers/goald.ts";
import { append, highestTask, replyWith } from "../helpers/numbered-model.ts";
import type { ChatRequest } from "../helpers/openai-answers.ts";
import { type RecordedRun, recordRun } from "../helpers/recorded-run.ts";

const remember = (subject: string, attribute: string, value: string): CommandCall => ({
  name: "remember",
  args: { subject, attribute, value },
});
/** Returns the id that the prompt shows for a recalled text. Throws when it shows none. */
function idOf(text: string, { messages }: ChatRequest): string {
  const prompt = messages.map(({ content }) => content).join("\n");
  const line = prompt.split("\n").findLast((each) => each.includes(text) && /\bt\/\d+\.\d+\b/.test(each));
  const id = /\bt\/\d+\.\d+\b/.exec(line ?? "")?.[0];
  if (id === undefined) throw new Error(`No recall shows ${JSON.stringify(text)}:\n${prompt}`);
  return id;
}

/** Work between the notes and their use, after which the prompt shows the notes as recalls alone. */
const WORK = Array.from({ length: 6 }, (_, at) => append(`line ${at}\n`, `depot-${at}.txt`));
const CALLS: readonly (CommandCall | ((request: ChatRequest) => CommandCall))[] = [
  remember("depot", "opening hour", "six"),
  remember("depot", "opening hour", "seven"),
  remember("depot", "guard", "Anselm"),
  ...WORK,
  (request) => ({
    name: "correct_memory",
    args: { id: idOf("depot: opening hour: seven", request), text: "eight" },
  }),
  (request) => ({ name: "forget_memory", args: { id: idOf("depot: guard: Anselm", request) } }),
  ...WORK,
];

let run: RecordedRun;
let goald: Goald;
let played: string;
beforeAll(async () => {
  run = await recordRun(
    (request) => {
      const next = highestTask(request) + 1;
      const call = CALLS[next - 1] ?? { name: "task_complete", args: { reason: "All is done at the depot." } };
      const thought = `Task ${next} of ${CALLS.length}: what about the depot, its opening hour and its guard?`;
      return replyWith(typeof call === "function" ? call(request) : call, thought);
    },
    { json: true },
  );
  goald = run.goald;
  endedWith(0, run.ended);
  expect(run.server.violations).toEqual([]);
  played = join(goald.cwd, "played");
  const ended = endedWith(0, await goald.ask(["replay", "t.ndjson", "--json", "--home", played]));
  expect(linesOf(ended).at(-1)).toMatchObject({ same: true, step: CALLS.length + 1, problems: [] });
});
afterAll(async () => run.close());

const memoriesOf = async (home: string) => {
  const reader = await openSqliteReader(join(home, ".goald", "goald.db"));
  try {
    return (await reader.memories("t", 0, 1_000)).map(({ vector: _, embedder: __, ...row }) => row);
  } finally {
    await reader.close();
  }
};
const recallsIn = (log: readonly RecordedEvent[]) =>
  log.flatMap((event) => (event.type === "model-asked" ? [[event.recallIds, event.shown]] : []));

describe("a recording of a run that changes its own memory", () => {
  it("has the changes that it is about (control)", async () => {
    const rows = await memoriesOf(goald.home);
    const stateOf = (text: string) => {
      const { closed, supersededBy } = rows.find((row) => row.text === text) ?? {};
      return { isPast: closed !== undefined, isReplaced: typeof supersededBy === "string" };
    };
    expect(stateOf("depot: opening hour: six")).toEqual({ isPast: true, isReplaced: false });
    expect(stateOf("depot: opening hour: seven").isReplaced).toBe(true);
    expect(stateOf("depot: opening hour: eight")).toEqual({ isPast: false, isReplaced: false });
    expect(stateOf("depot: guard: Anselm").isReplaced).toBe(true);
    const { log } = await lookInto(goald);
    const lists = recallsIn(log).map((recalls) => JSON.stringify(recalls));
    expect(new Set(lists).size).toBeGreaterThan(CALLS.length / 2);
  });

  it("shows no row any more in the request right after the one that corrected or hid it", () => {
    const shows = run.server.chats.map(({ messages }) => {
      const recalls = messages.at(-1)?.content ?? "";
      return [/\] depot: opening hour: seven/, /\] depot: guard: Anselm/].map((row) => row.test(recalls));
    });
    const correctedAt = CALLS.length - WORK.length - 2;
    expect(shows.slice(correctedAt, correctedAt + 3)).toEqual([
      [true, true],
      [false, true],
      [false, false],
    ]);
    expect(shows.slice(correctedAt + 3).flat()).not.toContain(true);
  });

  it("replays to the same events, and so to the same recalls of each request", async () => {
    const [recorded, replayed] = [await lookInto(goald), await lookInto({ home: played })];
    expect(recallsIn(replayed.log)).toEqual(recallsIn(recorded.log));
    expect(replayed).toEqual(recorded);
    expect(replayed.problems).toEqual([]);
  });

  it("replays to the same rows, with what was closed, replaced and hidden", async () => {
    expect(await memoriesOf(played)).toEqual(await memoriesOf(goald.home));
  });

  it("shows the same prompt of each step in both homes, which is the one that was sent", async () => {
    for (const [at, { messages }] of run.server.chats.entries()) {
      const shown = await Promise.all(
        [goald.home, played].map(async (home) => {
          const call = ["show", "t", "--step", `${at + 1}`, "--json", "--home", home];
          return jsonOf<{ prompt: object }>(await goald.ask(call)).prompt;
        }),
      );
      expect(shown).toMatchObject([
        { exact: true, messages },
        { exact: true, messages },
      ]);
    }
  });
});
