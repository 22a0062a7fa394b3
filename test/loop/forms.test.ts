import { readFileSync, writeFileSync } from "node:fs";
import { afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { describeForPrompt } from "#commands/describe.ts";
import { ALL_READY, loadRegistry, type RegisteredCommand } from "#commands/registry.ts";
import type { ReplyForm } from "#core/agent-settings.ts";
import { MEMORY_COMMANDS } from "#core/command.ts";
import type { OutputMode } from "#core/event.ts";
import { spentOf } from "#core/limits.ts";
import { createPlan } from "#core/plan.ts";
import { initialState, isFinished } from "#core/state.ts";
import { createHttp } from "#http/http.ts";
import { type CommandSet, type CommandsFor, createCommandSets } from "#loop/command-set.ts";
import { replyFormOf } from "#loop/reply-forms.ts";
import { readChatReply } from "#model/read-answer.ts";
import { buildPrompt } from "#prompt/build.ts";
import { templatesOf } from "#prompt/words.ts";
import { createAjv } from "#util/schema.ts";
import { type CellBehaviour, cellValue } from "../helpers/fake-sandbox.ts";
import { afterRun, closeProseLoops, done, makeLoop, makeProseLoop, python, reply } from "../helpers/loop.ts";
import { createOpenAIModel } from "../helpers/openai-model.ts";
import { type Answer, type ChatRequest, failure, startOpenAIServer } from "../helpers/openai-server.ts";
import { inputWith, stateWith } from "../prompt/fixtures.ts";

/** Their lines came later. */
const ADDED_SINCE = ["run_code", "method_search", "think", "add_task", "modify_task", ...MEMORY_COMMANDS];
const MODES: readonly OutputMode[] = ["json_schema", "json_object", "plain", "tools", "plan"];
let shipped: readonly RegisteredCommand[];
let set: CommandSet;
let commandsFor: CommandsFor;
beforeAll(async () => {
  shipped = (await loadRegistry(["commands"], ALL_READY)).all;
  commandsFor = createCommandSets(shipped, { commands: {}, args: {} });
  // The prompt lists method_search while there is something to find.
  const helper = { name: "double", signature: "double(x)", doc: "", line: 1 };
  const modules = [{ file: "own.py", path: "/own.py", source: "", functions: [helper], brokenLine: null }];
  set = createCommandSets(shipped, { commands: {}, args: {} }, modules)(initialState);
});

/** The request that a server gets in this mode, without the network. */
function requestIn(mode: OutputMode): ChatRequest {
  const form = templatesOf(mode);
  const { messages } = buildPrompt(inputWith({ commandList: set.commandList, asksPerson: set.asksPerson, form }));
  const { replySchema, tools } = replyFormOf(mode).attach(set, mode);
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

type Parsed = Extract<ReturnType<ReturnType<typeof replyFormOf>["read"]>, { readonly kind: "command" }>;

/** The shipped commands that a weak model names, and that are not understood, with the reasons. */
function refusedIn(mode: OutputMode, isFull: boolean, hasItsThoughts: (parsed: Parsed) => boolean): readonly string[] {
  const request = requestIn(mode);
  return shipped.flatMap(({ name, isInternal }) => {
    if (isInternal) return [];
    const parsed = replyFormOf(mode).read(set, textOf(answerWeakly(request, name, isFull)), "stop", initialState);
    if (parsed.kind === "problem") return [`${name}: ${parsed.problems.join(" ")}`];
    return parsed.call.name === name && !parsed.repaired && hasItsThoughts(parsed as Parsed)
      ? []
      : [`${name}: misread`];
  });
}

describe("a weak model that follows the words to the letter", () => {
  it.each(MODES.flatMap((mode) => [true, false].map((isFull) => [mode, isFull] as const)))(
    "is understood in mode %s for every shipped command, optional arguments filled: %s",
    (mode, isFull) => {
      // An action has no thoughts, and the tool think has a thought of its own.
      const hasThought = ({ thoughts, call }: Parsed) => !!(thoughts.speak || call.args.thought);
      expect(refusedIn(mode, isFull, mode === "plan" ? ({ thoughts }) => !thoughts.speak : hasThought)).toEqual([]);
      expect(shipped.length).toBeGreaterThan(20);
    },
  );

  it("is not understood when it copies the words instead (control)", () => {
    const shown = shipped.find(({ name }) => name === "delete_file")?.args.properties.file?.description;
    const text = textOf(answerWeakly(requestIn("plain"), "delete_file", true, { file: `<${shown}>` }));
    expect(replyFormOf("plain").read(set, text, "stop", initialState).kind).toBe("problem");
  });
});

// ---------------------------------------------------------------- over the network

/** A server that takes only some modes. */
const REFUSALS: Readonly<Record<string, (request: ChatRequest) => string | undefined>> = {
  everything: () => undefined,
  "no schema": ({ response_format }) =>
    response_format?.type === "json_schema" ? "json_schema is not supported" : undefined,
  "no response_format": ({ response_format }) => response_format && "Unknown parameter: response_format",
  "no tools": ({ tools }) => tools && "tools is not supported by this model",
  "no tool_choice": ({ tool_choice }) => tool_choice && "tool_choice=required is not supported",
  "no results of tools": ({ messages }) =>
    messages.some(({ role }) => role === "tool")
      ? "messages.2.role: Input should be 'system', 'user' or 'assistant'"
      : undefined,
  "no strict tools": ({ tools }) =>
    JSON.stringify(tools ?? "").includes('"strict"') ? "Unknown field: strict" : undefined,
};

async function runWeakly(form: ReplyForm, refusal: string) {
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
      expect(await loop.of("reply-rejected")).toEqual([]);
      expect((await loop.of("model-asked")).at(-1)).toMatchObject({ mode });
      expect(loop.text("a.md")).toBe("one\n");
      expect((await loop.of("command-requested")).filter(({ thought }) => thought === "")).toEqual([]);
    },
  );

  it.each([
    ["everything", ["system", "assistant", "tool", "assistant", "tool", "user"]],
    ["no results of tools", ["system", "user", "assistant", "user", "assistant", "user"]],
  ])("shows earlier tool calls to a server that takes %s with the roles %j", async (refusal, roles) => {
    const { server, loop } = await runWeakly("tools", refusal);
    await using _closing = server;
    const { messages = [], tools } = server.chats.at(-1) ?? {};
    expect(messages.map(({ role }) => role)).toEqual(roles);
    expect(tools).toBeDefined();
    expect(JSON.stringify(messages)).toContain("search_files");
    expect(loop.text("a.md")).toBe("one\n");
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
    const then = shipped.filter(({ name, isInternal }) => !isInternal && !ADDED_SINCE.includes(name));
    const prompt = buildPrompt(inputWith({ commandList: describeForPrompt(then), asksPerson: false }));
    const chars = prompt.messages.reduce((sum, { content }) => sum + content.length, 0);
    expect(chars).toBeLessThanOrEqual(Math.floor(6861 * 1.15));
    expect(prompt.tokens).toBeLessThanOrEqual(Math.floor(1895 * 1.15));
  });
});

const approving = (approve: "always" | "risky" | "never") =>
  stateWith([], { settings: { ...initialState.settings, approve } });

describe("the commands that an agent may use", () => {
  it.each([
    ["always", true],
    ["risky", true],
    ["never", false],
  ] as const)(
    "include ask_user with --approve %s: %s, and else its prompt says that nobody is there",
    (approve, asks) => {
      const state = approving(approve);
      const { commandList, asksPerson, replySchema } = commandsFor(state);
      const [system] = buildPrompt(inputWith({ state, commandList, asksPerson })).messages;
      expect(system?.content.includes("ask_user")).toBe(asks);
      expect(system?.content.includes("nobody is there")).toBe(!asks);
      expect(JSON.stringify(replySchema).includes("ask_user")).toBe(asks);
      expect(JSON.stringify(replySchema)).toContain('"task_complete"');
    },
  );

  it.each([
    ["1 level", true, 1, {}],
    ["2 levels", false, 2, {}],
    ["2 levels, with a sub-agent of its own,", true, 2, { foo: {} as never }],
  ])(
    "include start_agent for a sub-agent %s below a person's agent, where 2 levels may be: %s",
    (_title, offers, depth, children) => {
      const sets = createCommandSets(shipped, { commands: {}, args: {} }, [], 2);
      const { commandList } = sets(stateWith([], { startedBy: { agent: "top", depth, outside: [] }, children }));
      expect([commandList.includes("start_agent"), commandList.includes("list_agents")]).toEqual([offers, offers]);
    },
  );

  it("are rendered once per set, so that prompts stay the same object", () => {
    expect(commandsFor(approving("never"))).toBe(commandsFor(approving("never")));
    expect(commandsFor(approving("always"))).toBe(commandsFor(approving("risky")));
  });

  it.each(["plan", "memory"])(
    "make the prompt, the schema and the tools as they would be without the group %s, when the profile leaves it out",
    (left) => {
      const rest = shipped.filter(({ group }) => group !== left);
      const before = createCommandSets(rest, { commands: {}, args: {} });
      const others = [...new Set(rest.map(({ group }) => group))].join(",");
      const stateWithout = (commands: string | null) =>
        stateWith([], { plan: createPlan(["left"]), settings: { ...initialState.settings, commands } });
      const shown = (sets: CommandsFor, commands: string | null, plan = true) => {
        const state = plan ? stateWithout(commands) : { ...stateWithout(commands), plan: null };
        const { commandList, asksPerson, replySchema, tools } = sets(state);
        return { replySchema, tools, messages: buildPrompt(inputWith({ state, commandList, asksPerson })).messages };
      };
      expect(shown(commandsFor, others, left === "plan")).toEqual(shown(before, null, false));
      expect(shown(commandsFor, null, false)).not.toEqual(shown(before, null, false));
    },
  );
});

afterEach(closeProseLoops);

const POWER = "0.99 ** 1000";
const power: CellBehaviour = () => ({ value: cellValue(4.317124741065786e-5) });
const block = (code: string, words = "I compute."): string => `${words}\n\n${python(code)}`;

describe("an agent in the form code", () => {
  it("runs the code of a reply, reads its result, and ends with a reply without code", async () => {
    const replies = [`${block(POWER)}\nThat will be small.`, "It is 4.317124741065786e-05."];
    const { loop, server, request } = await makeProseLoop("code", replies, { [POWER]: power });
    expect(isFinished(await loop.run())).toBe(true);
    expect(server.violations).toEqual([]);
    expect(server.chats[0]).not.toHaveProperty("response_format");
    expect(server.chats[0]).not.toHaveProperty("tools");
    expect(server.chats[1]?.messages.slice(1, 3)).toEqual([
      { role: "assistant", content: block(POWER) },
      { role: "user", content: expect.stringMatching(/Your code of step 1 was run[\s\S]*\n0\.00004317124741065786\n/) },
    ]);
    expect(request(2)).toHaveLength(4);
    const [end] = await loop.of("turn-finished");
    expect(end).toMatchObject({ reason: "It is 4.317124741065786e-05." });
  });

  it("shows signature and words of each function in the first request, and of none in the form json (control)", async () => {
    const { request } = await afterRun(makeProseLoop("code", ["Done."], {}));
    expect(request(1)[0]).toMatch(/`read_file\(file: str[^)]*\) -> \w+`: \S+/);
    expect(request(1)[0]).toMatch(/`write_to_file\(file: str, text: str[^)]*\)[^`]*`: \S+/);
    expect(request(1)[0]).not.toMatch(/`(?:run_code|task_complete|save_files)\(/);
    const json = await makeProseLoop("json", ['{"command":{"name":"task_complete","args":{"reason":"x"}}}'], {});
    await json.loop.run();
    expect(json.request(1)[0]).not.toMatch(/`read_file\(/);
  });

  it("offers only the functions that its profile names", async () => {
    const code = 'write_to_file("a.txt", "abc")';
    const write: CellBehaviour = async (_cell, _host, { call }) =>
      void (await call("write_to_file", { file: "a.txt", text: "abc" }));
    const settings = { commands: "write_to_file" };
    const { loop, request } = await makeProseLoop("code", [block(code), "Done."], { [code]: write }, { settings });
    expect(isFinished(await loop.run())).toBe(true);
    expect(loop.text("a.txt")).toBe("abc");
    expect(request(1)[0]).toContain("`write_to_file(");
    expect(request(1)[0]).not.toContain("`read_file(");
  });

  it("is asked again when it wants a shell", async () => {
    const { loop, lastResult } = await makeProseLoop("code", ["```bash\nls\n```", "Done."], {});
    expect(isFinished(await loop.run())).toBe(true);
    expect(lastResult(2)).toMatch(/could not be used[\s\S]*"bash" cannot run/);
  });
});

it("an agent whose form changes sees its earlier replies in the new form", async () => {
  const json = JSON.stringify({
    thoughts: { text: "I write." },
    command: { name: "write_to_file", args: { file: "a.txt", text: "abc" } },
  });
  const { loop, request, server } = await makeProseLoop("json", [json, "Done."], {}, { settings: { stepLimit: 1 } });
  expect((await loop.run()).paused).toMatchObject({ code: "step-limit" });
  await loop.tell({ type: "settings", form: "code", stepLimit: 9 });
  await loop.tell({ type: "resume" });
  expect(isFinished(await loop.run())).toBe(true);
  expect(request(2)[1]).toBe(`I write.\n\n${python('write_to_file(file="a.txt", text="abc")')}`);
  expect(server.violations).toEqual([]);
});

/** Tokens of reasoning before each reply. */
const REASONING = 9_000;
const roomOf = () => ({ contextTokens: 32_000, replyTokens: 4_000, windowTokens: 200_000 });
const capOf = (request: ChatRequest): number => request.max_completion_tokens ?? Number.POSITIVE_INFINITY;

/** A model that reasons before it answers, and answers only when the maximum of the request leaves tokens for that. */
function reasoning(answers: readonly string[], cutReply: object, reasoningTokens = REASONING) {
  let answered = 0;
  return (request: ChatRequest): Answer => {
    const cap = capOf(request);
    if (cap > reasoningTokens) return answers[answered++] ?? "";
    const usage = { completion_tokens: cap, completion_tokens_details: { reasoning_tokens: cap } };
    return { finishReason: "length", usage: { prompt_tokens: 1_000, ...usage }, ...cutReply };
  };
}

const ENDS_BY_FORM: readonly (readonly [ReplyForm, readonly string[]])[] = [
  ["json", [done()]],
  ["tools", [done()]],
  ["plan", [JSON.stringify({ action: "modify_task", args: { id: "0", state: "verified" } }), '{"action":"finish"}']],
  ["react", [`THOUGHT 1:\nI end.\n\nACTION 1:\n${python("stop()")}`]],
  ["code", ["All is done."]],
];
const CUT_REPLIES: readonly (readonly [string, object])[] = [
  ["as a stream without text", { text: null }],
  ["in one document without text", { text: null, streamed: "document" }],
  ["as a stream with half a block of reasoning", { text: "<think>First I list.\nOBSERVATION: none" }],
  ["in one document with half a block of reasoning", { text: "<think>First I list", streamed: "document" }],
];

describe("a reply that was cut off within its reasoning", () => {
  it.each(
    ENDS_BY_FORM.flatMap(([form, answers]) => CUT_REPLIES.map(([way, cut]) => [form, way, answers, cut] as const)),
  )(
    "in the form %s, %s, gives the next reply more tokens, and says where they went",
    async (form, _way, answers, cut) => {
      const cells = { "stop()": () => ({ stop: {} }) };
      const { loop, server } = await makeProseLoop(form, reasoning(answers, cut), cells, { roomOf });
      expect(isFinished(await loop.run())).toBe(true);
      expect(server.chats.map(capOf)).toEqual([4_000, ...answers.map(() => 16_000)]);
      expect(await loop.of("model-failed")).toEqual([]);
      const problem = /cut off after 4000 tokens, 4000 of them reasoning, before an answer began/;
      const problems = [expect.stringMatching(problem)];
      expect(await loop.of("reply-rejected")).toMatchObject([{ problems, reasoningTokens: 4_000 }]);
      expect(server.violations).toEqual([]);
    },
  );

  it("pauses the agent at the largest maximum, with the tokens of reasoning and the setting that allows more", async () => {
    const model = reasoning([done()], { text: null }, 300_000);
    const { loop, server } = await makeProseLoop("json", model, {}, { roomOf });
    const { paused } = await loop.run();
    expect(server.chats.map(capOf)).toEqual([4_000, 16_000, 64_000]);
    expect(paused).toMatchObject({ code: "bad-replies" });
    expect(paused?.reason).toMatch(/Reasoning took 84000 tokens of replies that were cut off before an answer began/);
    expect(paused?.reason).toMatch(/setting models\.replyTokens \(GOALD_MODELS_REPLY_TOKENS\)/);
  });

  it("is not named in the pause after other unreadable replies (control)", async () => {
    const { loop } = await makeProseLoop("json", ["no", "not", "nothing"], {}, { roomOf });
    expect((await loop.run()).paused?.reason).toBe("3 replies in a row could not be read as one command in JSON.");
  });

  it("gives no more tokens after a whole block of reasoning that the model ended without an answer", async () => {
    const { loop, server } = await makeProseLoop("json", ["<think>I end.</think>", done()], {}, { roomOf });
    expect(isFinished(await loop.run())).toBe(true);
    expect(server.chats.map(capOf)).toEqual([4_000, 4_000]);
    const [rejected] = await loop.of("reply-rejected");
    expect(rejected).not.toHaveProperty("reasoningTokens");
  });

  it("counts with its whole maximum at a server that reports no usage", async () => {
    const cut = { kind: "replied", text: "", finishReason: "length", usage: null } as const;
    const loop = await makeLoop({ script: [cut, reply("do_nothing")], settings: { stepLimit: 1 }, roomOf });
    const state = await loop.run();
    expect(spentOf(state).tokens).toBeGreaterThan(4_000);
    expect(state.usage).toMatchObject({ outputTokens: 4_000, estimated: true });
  });
});

// A model that follows the words of its request to the letter and knows nothing else.
//
// It reads the shape of a reply and the list of commands from the prompt, or the tools from the request, and fills in
// every value as its description says. A reply that the requested schema would not allow is an error: a grammar would
// have forced the model away from its instructions.

type Values = Readonly<Record<string, unknown>>;
const ajv = createAjv({ strict: false });

/** Answers with the command of that name. `isFull`: with its optional arguments too. `values` replace examples. */
function answerWeakly(request: ChatRequest, name: string, isFull = true, values: Values = {}): Answer {
  return request.tools ? callTool(request, name, isFull, values) : answerInWords(request, name, isFull, values);
}

function answerInWords(
  { messages, response_format: format }: ChatRequest,
  name: string,
  isFull: boolean,
  values: Values,
) {
  const system = messages[0]?.content ?? "";
  const shape = JSON.parse(system.slice(system.indexOf("{\n"), system.lastIndexOf("\n}") + 2));
  const line = system.split("\n").find((each) => each.includes(`: "${name}", args:`));
  if (line === undefined) throw new Error(`The prompt has no command ${name}.`);
  const args = fillLine(/ args:(.*?) -- /.exec(line)?.[1] ?? "", isFull);
  const given = { ...args, ...values };
  const reply =
    "action" in shape ? { ...shape, action: name, args: given } : { ...shape, command: { name, args: given } };
  const schema = format?.json_schema?.schema;
  if (schema && !ajv.validate(schema, reply))
    throw new Error(`The grammar does not allow what the words show for ${name}: ${ajv.errorsText()}`);
  return JSON.stringify(reply);
}

/** Fills `"file": "<path>", optional "first_line": <from 1>`. */
function fillLine(list: string, isFull: boolean): Values {
  const [needed = "", optional = ""] = list.split(/(?:^|, | )optional (?=")/);
  const fill = (text: string): Values =>
    JSON.parse(
      `{${text.replace(/"<([^>]*)>"/g, (_all, words) => JSON.stringify(exampleOf(words))).replace(/<([^>]*)>/g, (_all, words) => bareOf(exampleOf(words)))}}`,
    );
  const omitted = Object.fromEntries(Object.keys(fill(optional)).map((name) => [name, null]));
  return { ...fill(needed.replace(/, $/, "")), ...(isFull ? fill(optional) : omitted) };
}

/** Takes what the words give as an example or a default, else the words. */
const exampleOf = (words: string): string =>
  /(?:such as|default) ([^\s,]+)/.exec(words)?.[1] ??
  /: (.+)$/.exec(words)?.[1]?.split("|")[0] ??
  words.replaceAll(" ", "-");

/** A flag or a number. */
const bareOf = (example: string): string => (/^(?:true|false)$/.test(example) ? example : String(Number(example) || 1));

interface Parameter {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly items?: Parameter;
  readonly properties?: Readonly<Record<string, Parameter>>;
}

function callTool(
  { tools = [], tool_choice: choice }: ChatRequest,
  name: string,
  isFull: boolean,
  values: Values,
): Answer {
  const tool = tools.find(({ function: { name: own } }) => own === name)?.function;
  if (!tool) throw new Error(`The request has no tool ${name}.`);
  const { properties } = tool.parameters as { readonly properties: Readonly<Record<string, Parameter>> };
  const given = { ...fillMembers(properties, isFull), ...values };
  if (!ajv.validate(tool.parameters, given)) throw new Error(`The tool ${name} refuses: ${ajv.errorsText()}`);
  const call = { id: "call_1", type: "function", function: { name, arguments: JSON.stringify(given) } };
  return { text: choice === "required" ? null : "I think.", finishReason: "tool_calls", toolCalls: [call] };
}

const fillMembers = (properties: Readonly<Record<string, Parameter>>, isFull: boolean): Values =>
  Object.fromEntries(Object.entries(properties).map(([key, parameter]) => [key, fillParameter(parameter, isFull)]));

function fillParameter({ type, description = "", enum: choices, ...inner }: Parameter, isFull: boolean): unknown {
  const types = [type ?? []].flat();
  if (!isFull && types.includes("null")) return null;
  if (choices) return choices[0];
  if (types.includes("array")) return [fillParameter(inner.items ?? {}, isFull)];
  if (inner.properties) return fillMembers(inner.properties, isFull);
  const example = exampleOf(description);
  return types.includes("string") ? example || "text" : JSON.parse(bareOf(example));
}
