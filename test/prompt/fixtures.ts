/** fixtures.ts -- states, messages and recalls for tests of prompts. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Recall } from "#core/ports/memory.ts";
import { type AgentState, createFrame, type Frame, type FrameOrigin, initialState, type Message } from "#core/state.ts";
import type { PromptInput } from "#prompt/build.ts";
import { templatesOf, type Words } from "#prompt/words.ts";

const SHIPPED = join(import.meta.dirname, "../../prompts");

/** The shipped words, read synchronously without `loadWords`: jest does not load modules with top-level await. */
export const shippedWords = Object.fromEntries(
  readdirSync(SHIPPED)
    .filter((name) => name !== "README.md")
    .flatMap((name) =>
      [...readFileSync(join(SHIPPED, name), "utf8").matchAll(/^## (.+)\n([\s\S]*?)(?=^## |(?![\s\S]))/gm)].map(
        ([, section = "", text = ""]) => {
          const place = `${join(SHIPPED, name)}, section ${section},`;
          return [`${name.replace(/\.md$/, "")}/${section}`, { place, text: text.trim() }];
        },
      ),
    ),
) as unknown as Words;

const COMMAND_LIST = [
  '1. Write to file: "write_to_file", args: "file": "<file>", "text": "<text>"',
  '2. Do nothing: "do_nothing", args:',
  '3. Task complete: "task_complete", args: "reason": "<reason>"',
].join("\n");

export const replyMessage = (seq: number, text = `{"thoughts":{"text":"thought ${seq}"}}`): Message =>
  resultMessage(seq, text, { kind: "reply", from: "", status: null, source: "model" });

export const resultMessage = (
  seq: number,
  text: Message["text"] = `result ${seq}`,
  changes: Partial<Message> = {},
): Message => ({
  seq,
  step: Math.ceil(seq / 2),
  kind: "result",
  from: "read_file",
  status: "ok",
  source: "workspace",
  text,
  ...changes,
});

/** Returns `count` messages, alternately replies and results, numbered from 1. */
export const messages = (count: number, text: (seq: number) => string = (seq) => `text ${seq}`): readonly Message[] =>
  Array.from({ length: count }, (_, index) => {
    const seq = index + 1;
    return seq % 2 === 1 ? replyMessage(seq, text(seq)) : resultMessage(seq, text(seq));
  });

export const stateWith = (window: readonly Message[], changes: Partial<AgentState> = {}): AgentState => ({
  ...initialState,
  name: "Foo",
  role: "an AI that recommends tennis equipment for a specific player",
  goals: ["Find three strings", "Write them to a file", "Finish"],
  frames: [{ ...initialState.frames[0], window }],
  ...changes,
});

/** The frame of a sub-task that code of the agent gave. */
export const subtaskFrame = (
  task: string,
  changes: Partial<Frame> = {},
  returns: FrameOrigin["returns"] = {},
): Frame => {
  const of = { callId: "c1", command: "run_code", step: 1, ordinal: 1, hash: "", seq: 5 };
  return { ...createFrame({ id: 1, kind: "run", path: "c1.1", origin: { ...of, task, returns } }), ...changes };
};

export const recalls = (
  count: number,
  text: (rank: number) => string = (rank) => `memory ${rank}`,
): readonly Recall[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `foo/${100 + index}`,
    step: index + 1,
    at: "2026-11-20T08:15:42.123Z",
    kind: "step",
    trust: "web",
    text: text(index + 1),
    score: 1 - index / 100,
  }));

export const inputWith = (changes: Partial<PromptInput> = {}): PromptInput => ({
  state: stateWith([]),
  commandList: COMMAND_LIST,
  asksPerson: true,
  recalls: [],
  now: new Date("2026-11-20T10:32:05.000Z"),
  words: shippedWords,
  form: templatesOf("plain"),
  contextTokens: 128_000,
  replyTokens: 4_000,
  ...changes,
});
