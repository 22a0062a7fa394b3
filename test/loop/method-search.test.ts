import { describe, expect, it } from "@jest/globals";
import { readPythonFunctions } from "#commands/python-modules.ts";
import { ALL_READY, loadRegistry, type RegisteredCommand } from "#commands/registry.ts";
import type { ReplyForm } from "#core/agent-settings.ts";
import { succeed } from "#core/command.ts";
import type { NewEvent } from "#core/event.ts";
import type { MethodIndex } from "#core/ports/memory.ts";
import type { Cell } from "#core/ports/sandbox.ts";
import { initialState } from "#core/state.ts";
import { createCommandSets } from "#loop/command-set.ts";
import { suggestMethods } from "#loop/method-search.ts";
import { createMethodIndex } from "#memory/method-index.ts";
import { openWordEmbedder } from "#memory/vectors/offline-embedder.ts";
import { buildPrompt } from "#prompt/build.ts";
import { templatesOf } from "#prompt/words.ts";
import { created, stateOf } from "../helpers/events.ts";
import { type CellBehaviour, cellValue, createFakeSandbox, failedCell } from "../helpers/fake-sandbox.ts";
import { cell, done, type LoopOptions, makeLoop, reply, testCommand } from "../helpers/loop.ts";
import { textIn } from "../helpers/models.ts";
import { describeMany, REACT_METHODS } from "../helpers/react-methods/methods.ts";
import { inputWith, stateWith } from "../prompt/fixtures.ts";

const unlisted = (name: string, summary: string, more: { readonly listed?: boolean } = {}) =>
  testCommand<{ text: string }>(name, async ({ text }) => succeed(`${name} said ${text}`, { value: text }), {
    label: name,
    group: "own",
    summary,
    listed: false,
    effect: "pure",
    args: { type: "object", properties: { text: { type: "string", description: "what to say" } }, required: ["text"] },
    ...more,
  });
const WHISPER = unlisted("whisper_softly", "says a text in a low voice.");
const SHOUT = unlisted("shout_loudly", "cries a text out.");
const HELPER = 'def add_commas(text: str) -> str:\n    """Puts commas between the words of a text."""\n    return text';
const MODULES = [{ file: "words.py", path: "/h/methods/words.py", source: HELPER, ...readPythonFunctions(HELPER) }];

async function runAgent(options: LoopOptions & { readonly script: readonly string[] }) {
  const loop = await makeLoop({ services: { methods: { ready: true } }, commands: [WHISPER, SHOUT], ...options });
  const state = await loop.run();
  const requests = loop.model.requests.map((_request, index) => loop.prompt(index));
  const problems = (await loop.of("reply-rejected")).flatMap((rejected) => rejected.problems);
  return { loop, state, requests, problems, results: await loop.results() };
}
const search = (description: string): string => reply("method_search", { description });

describe("an unlisted command", () => {
  it("is not in the prompt until a search finds it, and then stands near the end, with the same system message", async () => {
    const { requests, loop, results, state } = await runAgent({
      script: [search("speak in a low voice"), reply("whisper_softly", { text: "hello" }), done()],
    });
    const [first = "", second = ""] = requests;
    expect(first).toContain('"method_search"');
    expect(first).not.toContain("whisper_softly");
    expect(second).toContain('"whisper_softly", args: "text": "<what to say>" -- says a text in a low voice.');
    const [system, , last] = [0, 1, -1].map((at) => loop.model.requests[1]?.messages.at(at)?.content);
    expect(system).toBe(loop.model.requests[0]?.messages[0]?.content);
    expect(last).toContain("whisper_softly");
    expect(results[0]).toMatchObject({ status: "ok" });
    expect(String(results[0]?.text).split("\n")[0]).toBe(
      "`whisper_softly(text: str) -> str`: Says a text in a low voice. Arguments: text: what to say.",
    );
    expect(results[1]?.text).toBe("whisper_softly said hello");
    expect(state.foundMethods).toEqual(["whisper_softly", "shout_loudly"]);
  });

  it("runs when the model calls it by a name that it has not searched for", async () => {
    const { results } = await runAgent({ script: [reply("shout_loudly", { text: "hello" }), done()] });
    expect(results[0]?.text).toBe("shout_loudly said hello");
  });

  it("is in the schema and among the tools only after it was found", async () => {
    const { all } = await loadRegistry(["commands"], { methods: { ready: true } });
    const whisper = { effect: "pure", timeoutMs: 1, needs: [], ...WHISPER };
    const commandsFor = createCommandSets([...all, whisper] as never, { commands: {}, args: {} });
    const before = commandsFor(initialState);
    const found = stateWith([], { foundMethods: ["whisper_softly", "gone_by_now"] });
    const after = commandsFor(found);
    for (const part of ["replySchema", "tools"] as const) {
      expect(JSON.stringify(before[part])).not.toContain("whisper_softly");
      expect(JSON.stringify(after[part])).toContain("whisper_softly");
      expect(after.formatChars[part]).toBe(JSON.stringify(after[part]).length);
    }
    expect(after.commandList).toBe(before.commandList);
    expect(commandsFor({ ...found, step: 7 })).toBe(after);
    expect(commandsFor(initialState)).toBe(before);
    expect(after.callable).toBe(before.callable);
    const alone = createCommandSets([whisper] as never, { commands: {}, args: {} })(initialState);
    const problems = [expect.stringMatching(/The actions are: \.$/)];
    expect(alone.readAction(reply("fly"), "stop")).toMatchObject({ problems });
  });

  it("stays out of reach of an agent whose profile lacks it", async () => {
    const { requests, results, problems } = await runAgent({
      script: [reply("shout_loudly", { text: "a" }), search("cry out"), done()],
      settings: { commands: "files,code" },
    });
    expect(problems[0]).toMatch(/You may not use shout_loudly/);
    expect(requests.at(-1)).not.toContain("cries a text");
    expect(results[0]?.text).toMatch(/No method fits/);
  });
});

describe("method_search", () => {
  it("is not offered while the prompt lists everything", async () => {
    const listed = [WHISPER, SHOUT].map(({ name, summary }) => unlisted(name, summary, { listed: true }));
    const { requests } = await runAgent({ script: [done()], commands: listed });
    expect(requests[0]).toContain("whisper_softly");
    expect(requests[0]).not.toContain("method_search");
  });

  it("finds the Python helpers of the home, which are not commands", async () => {
    const { requests, results, problems } = await runAgent({
      script: [search("commas between words"), reply("add_commas", { text: "a b" }), done()],
      commands: [],
      modules: MODULES,
    });
    const line =
      "`add_commas(text: str) -> str`: Puts commas between the words of a text. A Python helper: only code can call it, in run_code.";
    expect(results[0]?.text).toBe(line);
    expect(requests[1]).toMatch(/\n`add_commas\(text: str\) -> str`: Puts commas/);
    const [unknown, helper] = problems;
    expect(unknown).toMatch(/^There is no command "add_commas"/);
    expect(helper).toBe(`Methods that a search finds for this name: ${line}`);
  });

  it("searches what the home brings as its own, and shipped commands as shipped", async () => {
    const { all } = await loadRegistry(["commands", REACT_METHODS], ALL_READY);
    const { texts } = createCommandSets(all, { commands: {}, args: {} }, MODULES)(initialState).callable;
    const isOwn = (method: string) => texts.find(({ name }) => name === method)?.isOwn;
    expect(["add_commas", "shrink_image", "read_file", "google"].map(isOwn)).toEqual([true, true, false, false]);
  });

  it("keeps the twenty methods that were found last", async () => {
    const found = (...names: readonly string[]): NewEvent => ({ type: "methods-found", step: 1, callId: "c1", names });
    const many = Array.from({ length: 18 }, (_, at) => `m${at}`);
    const { foundMethods } = stateOf(created(), found(...many), found("m3", "x", "y", "z"));
    expect(foundMethods).toHaveLength(20);
    expect(foundMethods.slice(0, 5)).toEqual(["m3", "x", "y", "z", "m0"]);
  });

  it("counts embeddings in the agent's tokens and money", async () => {
    const find: MethodIndex["search"] = async (_methods, { countTokens }) => {
      countTokens?.(25);
      return ["whisper_softly"];
    };
    const methods = { remote: true, search: find };
    const script = [search("low voice"), done()];
    const priceOf = () => ({ input: 2, cachedInput: 1, output: 8 });
    const { loop } = await runAgent({ script, methods, embeddingModel: "e", priceOf });
    const [finished] = await loop.of("command-finished");
    expect(finished?.spent).toMatchObject({ usage: { inputTokens: 25, outputTokens: 0 }, modelCalls: 0 });
    expect(finished?.spent?.costUsd).toBeCloseTo(0.00005);
  });
});

describe("code", () => {
  const services = { methods: { ready: true }, cells: { ready: true } } as const;

  it("has unlisted commands and Python helpers under their names, found or not", async () => {
    const cells: Cell[] = [];
    const sandbox = createFakeSandbox({
      both: async (given, _host, { call }) => {
        cells.push(given);
        return { value: cellValue(await call("whisper_softly", { text: "hello" })) };
      },
    });
    const script = [cell("both"), done()];
    const { results } = await runAgent({ script, services, sandbox, modules: MODULES });
    expect(results.find(({ source }) => source === "workspace")?.text).toBe("hello");
    const [python] = cells;
    const names = python?.functions.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["shout_loudly", "method_search"]));
    expect(names?.filter((name) => ["task_complete", "save_files"].includes(name))).toEqual([]);
    expect(python?.modules).toEqual([{ file: "words.py", source: HELPER }]);
  });

  it("searches, reads the lines, and leaves the found methods to the next prompt", async () => {
    const found: unknown[] = [];
    const search: CellBehaviour = async (_cell, _host, { call }) => {
      found.push(String(await call("method_search", { description: "say it in a low voice" })).split("\n")[0]);
    };
    const sandbox = createFakeSandbox({ search });
    const script = [cell("search"), done()];
    const { requests, state } = await runAgent({ script, services, sandbox });
    expect(found).toEqual([
      "`whisper_softly(text: str) -> str`: Says a text in a low voice. Arguments: text: what to say.",
    ]);
    expect(requests[0]).not.toContain("whisper_softly");
    expect(requests[1]).toContain('"whisper_softly", args:');
    expect(state.foundMethods[0]).toBe("whisper_softly");
  });

  it("that uses a name that does not exist is answered with what the search finds for it", async () => {
    const missing = (missingName: string) => () =>
      failedCell({ type: "NameError", message: "not defined", line: 1, source: "x", missingName });
    const codes = {
      "speak_low_voice('a')": missing("speak_low_voice"),
      "whisper ('a')": missing("whisper"),
      "speak_low_voice + 1": missing("speak_low_voice"),
      "undefined_text('a')": missing("undefined_text"),
      "run_something()": missing("run_something"),
    };
    const sandbox = createFakeSandbox({ ...codes, 1: () => ({ value: cellValue(1) }) });
    // More failing cells in a row would pause the agent.
    const script = Object.keys(codes).flatMap((code) => [cell(code), cell("1")]);
    const { results } = await runAgent({ script: [...script, done()], services, sandbox });
    const hints = results.flatMap(({ text }) => /There is no name.*/s.exec(String(text)) ?? []);
    const found = "`whisper_softly(text: str) -> str`: Says a text in a low voice. Arguments: text: what to say.";
    expect(hints).toEqual([
      `There is no name speak_low_voice. A search for it finds:\n${found}`,
      `There is no name whisper. A search for it finds:\n${found}`,
      "There is no name speak_low_voice.",
      "There is no name undefined_text.",
      "There is no name run_something.",
    ]);
  });
});

it("prompts do not grow with a thousand methods more", async () => {
  const { all } = await loadRegistry(["commands", REACT_METHODS], ALL_READY);
  const template = all.find(({ name }) => name === "list_slack_channels");
  const more = describeMany(1_000).map(({ name, summary }) => ({ ...template, name, summary }) as RegisteredCommand);
  const tokensOf = (commands: readonly RegisteredCommand[], form: ReplyForm): number => {
    const foundMethods = ["send_message_discord", "send_slack_message", "send_slack_image"];
    const state = stateWith([], { foundMethods, settings: { ...initialState.settings, form } });
    const set = createCommandSets(commands, { commands: {}, args: {} })(state);
    const words = templatesOf(form === "json" ? "plain" : form);
    const prompt = buildPrompt({ ...inputWith({ state, form: words }), ...set });
    expect(textIn(prompt)).toContain("send_slack_image");
    return prompt.tokens;
  };
  for (const form of ["json", "react", "code"] as const) {
    expect(tokensOf([...all, ...more], form)).toBe(tokensOf(all, form));
    expect(tokensOf(all, form)).toBeLessThan(4_000);
  }
});

describe("a name that does not exist", () => {
  it("is answered with what the search finds for it", async () => {
    const { problems, requests } = await runAgent({ script: [reply("whisper", { text: "a" }), done()] });
    expect(problems[0]).toMatch(/There is no command "whisper"/);
    expect(problems[1]).toMatch(/`whisper_softly\(text: str\) -> str`: Says a text in a low voice/);
    expect(requests[1]).toContain("`whisper_softly(text: str) -> str`");
  });

  it("is answered with the nearest names alone when everything is listed", async () => {
    const { problems } = await runAgent({ script: [reply("writefile", { text: "a" }), done()], commands: [] });
    expect(problems).toHaveLength(1);
  });

  it("in code is answered with functions of Python", async () => {
    const { all } = await loadRegistry(["commands", REACT_METHODS], { methods: { ready: true } });
    const commandsFor = createCommandSets(all, { commands: {}, args: {} }, MODULES);
    const methods = createMethodIndex({ embedder: openWordEmbedder(), report: () => undefined });
    const { signal } = new AbortController();
    const suggest = (name: string) => suggestMethods(name, initialState, { commandsFor, methods }, signal);
    expect((await suggest("send_discord"))[0]).toMatch(/^`send_message_discord\(msg: str, image: str \| None/);
    expect((await suggest("commas"))[0]).toMatch(/^`add_commas/);
    expect(await suggest("x1")).toEqual([]);
  });
});
