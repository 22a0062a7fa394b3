import { readFileSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { describeForPrompt } from "#commands/describe.ts";
import { ALL_READY, loadRegistry, type RegisteredCommand } from "#commands/registry.ts";
import type { ReplyForm } from "#core/agent-settings.ts";
import { MEMORY_COMMANDS } from "#core/command-names.ts";
import type { OutputMode } from "#core/event.ts";
import { initialState, isFinished } from "#core/state.ts";
import { createHttp } from "#http/http.ts";
import { type CommandSet, createCommandSets } from "#loop/command-set.ts";
import { formOf } from "#loop/reply-forms.ts";
import { readChatReply } from "#model/chat-reply.ts";
import { createOpenAIModel } from "#model/openai-model.ts";
import { buildPrompt } from "#prompt/build.ts";
import { type Loop, makeLoop } from "../helpers/loop.ts";
import { type Answer, type ChatRequest, failure } from "../helpers/openai-answers.ts";
import { type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";
import { answerWeakly } from "../helpers/weak-model.ts";
import { inputWith } from "../prompt/fixtures.ts";

/** Their lines came later. */
const ADDED_SINCE = ["run_code", "method_search", "think", "add_task", "modify_task", ...MEMORY_COMMANDS];
const MODES: readonly OutputMode[] = ["json_schema", "json_object", "plain", "tools"];
let all: readonly RegisteredCommand[];
let set: CommandSet;
beforeAll(async () => {
  ({ all } = await loadRegistry(["commands"], ALL_READY));
  // The prompt lists method_search while there is something to find.
  const helper = { name: "double", signature: "double(x)", doc: "", line: 1 };
  const modules = [{ file: "own.py", path: "/own.py", source: "", functions: [helper] }];
  set = createCommandSets(all, { commands: {}, args: {} }, modules)(initialState);
});

/** The request that a server gets in this mode, without the network. */
function requestIn(mode: OutputMode): ChatRequest {
  const { words: form, attach } = formOf(mode);
  const { messages } = buildPrompt(inputWith({ commandList: set.commandList, asksPerson: set.asksPerson, form }));
  const { replySchema, tools } = attach(set, mode);
  const format = replySchema && { type: "json_schema", json_schema: replySchema };
  return {
    model: "m",
    messages,
    ...(format ? { response_format: format } : {}),
    ...(tools ? { tools: tools.map((tool) => ({ function: tool })), tool_choice: "required" } : {}),
  };
}

function textOf(answer: Answer): string {
  if (typeof answer === "string") return answer;
  if (!("toolCalls" in answer)) throw new Error("no reply");
  const body = { choices: [{ finish_reason: "tool_calls", message: { content: null, tool_calls: answer.toolCalls } }] };
  const read = readChatReply(body, { server: "s", model: "m", quote: String });
  return read.kind === "replied" ? read.text : "";
}

describe("a weak model that follows the words to the letter", () => {
  it.each(MODES.flatMap((mode) => [true, false].map((isFull) => [mode, isFull] as const)))(
    "is understood in mode %s for every shipped command, optional arguments filled: %s",
    (mode, isFull) => {
      const request = requestIn(mode);
      const refused = all.flatMap(({ name, isInternal }) => {
        if (isInternal) return [];
        const text = textOf(answerWeakly(request, name, isFull));
        const parsed = formOf(mode).read(set, text, "stop", initialState);
        if (parsed.kind === "problem") return [`${name}: ${parsed.problems.join(" ")}`];
        // The tool think has a thought of its own.
        const thought = parsed.thoughts.speak || parsed.call.args.thought;
        return parsed.call.name === name && !parsed.repaired && thought ? [] : [`${name}: misread`];
      });
      expect(refused).toEqual([]);
      expect(all.length).toBeGreaterThan(20);
    },
  );

  it.each([true, false])(
    "is understood in mode plan for every shipped command, as an action without thoughts, optional arguments filled: %s",
    (isFull) => {
      const request = requestIn("plan");
      const refused = all.flatMap(({ name, isInternal }) => {
        if (isInternal) return [];
        const parsed = formOf("plan").read(set, textOf(answerWeakly(request, name, isFull)), "stop", initialState);
        if (parsed.kind === "problem") return [`${name}: ${parsed.problems.join(" ")}`];
        return parsed.call.name === name && !parsed.repaired && !parsed.thoughts.speak ? [] : [`${name}: misread`];
      });
      expect(refused).toEqual([]);
    },
  );

  it("is not understood when it copies the words instead (control)", () => {
    const shown = all.find(({ name }) => name === "delete_file")?.args.properties.file?.description;
    const text = textOf(answerWeakly(requestIn("plain"), "delete_file", true, { file: `<${shown}>` }));
    expect(formOf("plain").read(set, text, "stop", initialState).kind).toBe("problem");
  });

  it("would meet a grammar that contradicts its words (control)", () => {
    const request = requestIn("json_schema");
    const schema = { type: "object", properties: { command: { required: ["read_file"] } } };
    const other = { ...request, response_format: { type: "json_schema", json_schema: { schema } } };
    expect(() => answerWeakly(other, "read_file")).toThrow(/grammar does not allow/);
  });
});

// ---------------------------------------------------------------- over the network

/** A server that takes only some modes. */
const REFUSALS: Readonly<Record<string, (request: ChatRequest) => string | undefined>> = {
  everything: () => undefined,
  "no schema": ({ response_format: format }) =>
    format?.type === "json_schema" ? "json_schema is not supported" : undefined,
  "no response_format": ({ response_format: format }) => (format ? "Unknown parameter: response_format" : undefined),
  "no tools": ({ tools }) => (tools ? "tools is not supported by this model" : undefined),
  "no tool_choice": ({ tool_choice: choice }) => (choice ? "tool_choice=required is not supported" : undefined),
  "no strict tools": ({ tools }) =>
    JSON.stringify(tools ?? "").includes('"strict"') ? "Unknown field: strict" : undefined,
};

interface Outcome {
  readonly loop: Loop;
  readonly server: OpenAIServer;
}

async function runWeakly(form: ReplyForm, refusal: string): Promise<Outcome> {
  const steps = [
    ["search_files", { directory: "" }],
    ["write_to_file", { file: "a.md", text: "one\n" }],
    ["task_complete", {}],
  ] as const;
  let step = 0;
  const server = await startOpenAIServer({
    reply: (request) => {
      const refused = REFUSALS[refusal]?.(request);
      if (refused !== undefined) return failure(400, refused);
      const [name, values] = steps[step++] ?? ["do_nothing", {}];
      return answerWeakly(request, name, false, values);
    },
  });
  const model = createOpenAIModel({ baseUrl: server.baseUrl, apiKey: "", http: createHttp(), timeoutMs: 20_000 });
  const loop = await makeLoop({ script: [], model, settings: { form } });
  expect(isFinished(await loop.run())).toBe(true);
  return { loop, server };
}

describe("a run in each form and mode", () => {
  it.each<[ReplyForm, string, OutputMode, number]>([
    ["json", "everything", "json_schema", 3],
    ["json", "no schema", "json_object", 4],
    ["json", "no response_format", "plain", 4],
    ["tools", "everything", "tools", 3],
    ["tools", "no tools", "json_schema", 4],
    ["tools", "no tool_choice", "tools", 4],
    ["tools", "no strict tools", "tools", 4],
  ])(
    "as %s at a server that takes %s ends in mode %s after %d requests, with no reply rejected",
    async (form, refusal, mode, requests) => {
      const { loop, server } = await runWeakly(form, refusal);
      await using _closing = server;
      expect(server.violations).toEqual([]);
      expect(server.chats).toHaveLength(requests);
      const events = await loop.events();
      expect(events.filter(({ type }) => type === "reply-rejected")).toEqual([]);
      expect(events.findLast(({ type }) => type === "model-asked")).toMatchObject({ mode });
      expect(Buffer.from(loop.files.get("a.md") ?? []).toString()).toBe("one\n");
      const thoughts = events.flatMap((event) => (event.type === "command-requested" ? [event.thought] : []));
      expect(thoughts.every((thought) => thought !== "")).toBe(true);
    },
  );

  it("shows earlier tool calls as JSON to any server, and keeps the order of roles", async () => {
    const { server } = await runWeakly("tools", "everything");
    await using _closing = server;
    const roles = server.chats.at(-1)?.messages.map(({ role }) => role);
    expect(roles).toEqual(
      ["system", "user", "assistant", "user", "assistant", "user", "user"].filter((_, at) => at !== 1),
    );
    const [, first] = server.chats.at(-1)?.messages ?? [];
    expect(JSON.parse(first?.content ?? "")).toMatchObject({ command: { name: "search_files" } });
  });
});

// ---------------------------------------------------------------- golden requests

describe("the request of the first step", () => {
  it.each<[OutputMode, ReplyForm, string]>([
    ["json_schema", "json", "everything"],
    ["json_object", "json", "no schema"],
    ["plain", "json", "no response_format"],
    ["tools", "tools", "everything"],
  ])("in mode %s is the golden one", async (mode, form, refusal) => {
    const { server } = await runWeakly(form, refusal);
    await using _closing = server;
    const { messages, response_format, tools, tool_choice } =
      server.chats.find((request) => !REFUSALS[refusal]?.(request)) ?? {};
    const shown = [
      ...(messages ?? []).map(({ role, content }) => `--- ${role}\n${content}`),
      `--- request\n${JSON.stringify({ response_format, tools, tool_choice }, null, 1)}`,
    ].join("\n");
    const text = `${shown.replace(/It is now \S+ \(\w+, UTC\)/, "It is now <time>")}\n`;
    const file = `test/data/prompts/${mode}.txt`;
    if (process.env.GOLDEN === "write") writeFileSync(file, text);
    expect(text).toBe(readFileSync(file, "utf8"));
  });

  it("has at most 15 % more than before the descriptions: 6861 characters and 1895 tokens with all commands of then", () => {
    const commandList = describeForPrompt(
      all.filter(({ name, isInternal }) => !isInternal && !ADDED_SINCE.includes(name)),
    );
    const prompt = buildPrompt(inputWith({ commandList, asksPerson: false }));
    const chars = prompt.messages.reduce((sum, { content }) => sum + content.length, 0);
    expect(chars).toBeLessThanOrEqual(Math.floor(6861 * 1.15));
    expect(prompt.tokens).toBeLessThanOrEqual(Math.floor(1895 * 1.15));
  });
});
