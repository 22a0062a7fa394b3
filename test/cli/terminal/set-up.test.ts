import { describe, expect, it } from "@jest/globals";
import { readBudget } from "#cli/run-options.ts";
import { askText, askYesNo, readApproval } from "#cli/terminal/questions.ts";
import {
  askForAgent,
  askForTerms,
  askToContinue,
  type ConnectionChoice,
  chooseConnection,
  type FoundServer,
  type ServerChoice,
  type ServerProbe,
} from "#cli/terminal/set-up.ts";
import { DEFAULT_AGENT, validateAgent } from "#config/agent-spec.ts";
import { scriptedLines } from "../../helpers/screen.ts";

const KEY = "sk-abcdefgh";
const last = { name: "Foo", role: "an AI", goals: ["one", "two"] };

function openScreen(lines: readonly string[], typedAhead: readonly string[] = []) {
  const input = scriptedLines(lines, typedAhead);
  const said: string[] = [];
  return { screen: { input: () => input, say: (line: string) => said.push(line) }, said, asked: input.asked };
}
type Screen = ReturnType<typeof openScreen>["screen"];
async function ask<T>(lines: readonly string[], question: (screen: Screen) => Promise<T>, ahead?: readonly string[]) {
  const { screen, ...seen } = openScreen(lines, ahead);
  return { meaning: await question(screen), ...seen };
}
const answer = (lines: readonly string[], ahead?: readonly string[]) => ask(lines, askForAgent, ahead);

describe("setting up a new agent", () => {
  it("asks for a name, a role and goals, in this order", async () => {
    const { meaning: agent, asked } = await answer(["Foo", "an AI", "one", "two", ""]);
    expect(agent).toEqual(last);
    const questions = asked.map((question) => question.replace(/ \[.*/, ""));
    expect(questions).toEqual(["AI name", "Foo is", "Goal 1: ", "Goal 2: ", "Goal 3: "]);
  });

  it("takes Enter for the defaults, shows the goals that they are, and they are valid", async () => {
    const { meaning: agent, said, asked } = await answer(["", " ", ""]);
    expect(agent).toEqual(DEFAULT_AGENT);
    expect(asked[0]).toContain(DEFAULT_AGENT.name);
    expect(asked[1]).toContain(DEFAULT_AGENT.role);
    for (const goal of DEFAULT_AGENT.goals) expect(said.join("\n")).toContain(goal);
    expect(validateAgent(DEFAULT_AGENT)).toEqual(DEFAULT_AGENT);
  });

  it("stops asking after five goals, and refuses in words those that were pasted behind the fifth", async () => {
    const five = ["Foo", "an AI", "1", "2", "3", "4", "5"];
    const { meaning: agent, asked, said } = await answer([...five, "6"], ["six", "", "sev\u001b[2Jen"]);
    expect(agent?.goals).toEqual(["1", "2", "3", "4", "5"]);
    expect(asked).toHaveLength(7);
    expect(said.join("\n")).toContain("An agent has up to 5 goals. Left out:\n  six\n  seven\n");
    expect((await answer(five, ["", " "])).said.join("\n")).not.toContain("Left out");
  });

  it("asks again for what cannot be used, says why, and takes control characters out", async () => {
    const tooLong = "x".repeat(2_001);
    const lines = ["x".repeat(81), "F\u001b[31moo", tooLong, "an AI\u0007", tooLong, "\u001b[200~one\u001b[201~"];
    const { meaning: agent, said } = await answer([...lines, "two", ""]);
    expect(agent).toEqual(last);
    expect(said.join("\n")).toMatch(/got 81.*got 2,001.*Goal 1 must/s);
  });

  it.each([0, 1, 2, 3])("is left when the person leaves after %i answers", async (count) => {
    expect((await answer(["Foo", "an AI", "one"].slice(0, count))).meaning).toBeUndefined();
  });
});

it("going on with the last agent shows who it is, without control characters", async () => {
  const { said } = await ask(["y"], (screen) => askToContinue(screen, { ...last, name: "Foo\u001b[2J" }));
  const text = said.join("\n");
  for (const part of ["Foo", "an AI", "Goal 1: one", "Goal 2: two"]) expect(text).toContain(part);
  expect(text).not.toContain("\u001b");
});

describe("when an agent asks, and what it may spend", () => {
  const budget = { initial: 0, read: readBudget };
  const askTerms = (lines: readonly string[], asked: Parameters<typeof askForTerms>[1]) =>
    ask(lines, (screen) => askForTerms(screen, asked));

  it.each([
    ["all", "always"],
    ["risky", "risky"],
    ["none", "never"],
    ["", "risky"],
  ] as const)("%j means %s where risky commands ask by default", async (line, approve) => {
    const { meaning: terms, asked } = await askTerms([line], { approve: "risky" });
    expect(terms).toEqual({ approve });
    expect(asked).toEqual([expect.stringContaining("[risky]")]);
  });

  it.each([
    ["", 0],
    ["0.50", 0.5],
    ["none", Number.POSITIVE_INFINITY],
  ])("%j dollars are a budget of %s", async (line, usd) => {
    expect((await askTerms(["", line], { approve: "always", budget })).meaning).toEqual({
      approve: "always",
      budget: usd,
    });
  });

  it("are asked again after what cannot be used, with the reason", async () => {
    const { meaning: terms, said } = await askTerms(["always", "?", "all", "much", "-1", "?", "2"], {
      approve: "always",
      budget,
    });
    expect(terms).toEqual({ approve: "always", budget: 2 });
    expect(said.join("\n")).toMatch(/Answer all, risky or none.*risky {2}before.*more than 0.*more than 0.*pauses/s);
  });

  it("are not asked for when options say it", async () => {
    expect(await askTerms([], {})).toEqual({ meaning: {}, said: [], asked: [] });
  });

  it.each([[[]], [["all"]]])("are left after %j", async (lines) => {
    expect((await askTerms(lines, { approve: "always", budget })).meaning).toBeUndefined();
  });
});

const ollama: FoundServer = { name: "Ollama", baseUrl: "http://127.0.0.1:11434/v1", models: ["llama3", "qwen3"] };
const llama: FoundServer = { name: "llama.cpp", baseUrl: "http://127.0.0.1:8080/v1", models: ["only"] };
const ADDRESS = "https://models.example/v1";

/** By default every server answers, and the one at the typed address lists two models. */
async function choose(lines: readonly string[], given: Partial<ServerProbe> = {}) {
  const { screen, said, asked } = openScreen(lines);
  const tested: ServerChoice[] = [];
  const { test = async () => "It answered in 0.1 s." } = given;
  const probe: ServerProbe = {
    found: [ollama, llama],
    list: async () => ["big", "small"],
    ...given,
    test: (server) => {
      tested.push(server);
      return test(server);
    },
  };
  const choice = await chooseConnection(screen, probe, "/home/ada/goald/.env");
  return { choice, said: said.join("\n"), asked, tested };
}
const use = (server: ServerChoice, save = true): ConnectionChoice => ({ kind: "server", server, save });
const at = ({ baseUrl }: FoundServer, model: string): ServerChoice => ({ baseUrl, model });

describe("a person without a model", () => {
  const silent = { list: async () => undefined };
  it.each<[title: string, lines: string[], choice: ConnectionChoice, given?: Partial<ServerProbe>]>([
    ["uses a server's model by its number", ["1", "2", "y"], use(at(ollama, "qwen3"))],
    ["uses a server's model by its name", ["1", "gpt", "9", "llama3", "y"], use(at(ollama, "llama3"))],
    ["uses a server with one model", ["2", "y"], use(at(llama, "only"))],
    ["keeps it by Enter", ["2", ""], use(at(llama, "only"))],
    ["uses it for this time", ["2", "n"], use(at(llama, "only"), false)],
    ["types an address", ["3", ADDRESS, "", "1", "y"], use({ baseUrl: ADDRESS, model: "big" })],
    [
      "types an address of this machine without its scheme",
      ["3", "models.example:8080", "localhost:8080/v1", "", "1", "y"],
      use({ baseUrl: "http://localhost:8080/v1", model: "big" }),
    ],
    [
      "types an address and its key",
      ["3", "models", "ftp://a.example", ADDRESS, ` ${KEY} `, "small", "y"],
      use({ baseUrl: ADDRESS, apiKey: KEY, model: "small" }),
    ],
    ["returns from the address by Enter", ["3", "", "2", "y"], use(at(llama, "only"))],
    ["pastes a key", ["4", ` ${KEY} `, "y"], use({ apiKey: KEY })],
    ["pastes something else first", ["4", "your-openai-api-key", "4", "a b c d", "4", KEY, "y"], use({ apiKey: KEY })],
    ["watches the demo", ["5"], { kind: "demo" }],
    ["leaves", [], { kind: "left" }],
    ["leaves at the model", ["1"], { kind: "left" }],
    ["leaves at the address", ["3"], { kind: "left" }],
    ["leaves at the key of an address", ["3", ADDRESS], { kind: "left" }],
    ["leaves at the key", ["4"], { kind: "left" }],
    ["leaves before it is kept", ["4", KEY], { kind: "left" }],
    ["names the model", ["3", ADDRESS, "", "", "mine", "y"], use({ baseUrl: ADDRESS, model: "mine" }), silent],
  ])("%s", async (_title, lines, choice, given = {}) => {
    expect((await choose(lines, given)).choice).toEqual(choice);
  });

  it("is asked until there is an answer: nothing is chosen by itself", async () => {
    const { choice, asked, tested } = await choose(["", "0", "6", "-1", "two", "1.0", "5"]);
    expect(choice).toEqual({ kind: "demo" });
    expect(asked).toHaveLength(7);
    expect(tested).toEqual([]);
  });

  it("is not offered a server without models", async () => {
    const { choice, said } = await choose(["3"], { found: [{ ...ollama, models: [] }] });
    expect(choice).toEqual({ kind: "demo" });
    expect(said).not.toContain("Ollama");
  });

  it("reads how the server answered, before it is kept", async () => {
    const { said, asked, tested } = await choose(["2", "y"]);
    expect(tested).toEqual([at(llama, "only")]);
    expect(said).toContain("It answered in 0.1 s.");
    expect(asked.at(-1)).toContain("/home/ada/goald/.env");
  });

  it("chooses again after a server that does not answer, and reads why", async () => {
    const test = async ({ model }: ServerChoice) =>
      model === "only" ? { problem: "It answered 500.\u001b[2J" } : "It answered.";
    const { choice, said, tested } = await choose(["2", "1", "1", "y"], { test });
    expect(choice).toEqual(use(at(ollama, "llama3")));
    expect(said).toContain("It answered 500.\n");
    expect(said).not.toContain("\u001b");
    expect(tested).toHaveLength(2);
  });

  it.each<[title: string, list: ServerProbe["list"], says: string]>([
    ["refuses the key", async () => ({ problem: "It refused the key." }), "It refused the key."],
    ["has no model for chat", async () => [], "It has no models for chat."],
  ])("chooses again when a typed address %s", async (_title, list, says) => {
    const { choice, said, tested } = await choose(["3", ADDRESS, KEY, "5"], { list });
    expect(choice).toEqual({ kind: "demo" });
    expect(said).toContain(says);
    expect(tested).toEqual([]);
  });

  it("types keys unseen, and never reads them back", async () => {
    const { said, asked } = await choose(["3", ADDRESS, KEY, "9", "1", "n"]);
    expect(asked.filter((question) => question.startsWith("(secret)"))).toHaveLength(1);
    expect(said + asked.join("\n")).not.toContain(KEY);
  });

  it("sees what a server says of itself in one line without control characters", async () => {
    const name = "Oll\u001b[2Jama\n  9  pay";
    const hostile = { ...ollama, name, models: ["a\u001b]0;x\u0007b\nc", "d".repeat(500)] };
    const { said, choice } = await choose(["1", "1", "n"], { found: [hostile] });
    expect(said).not.toMatch(/[\u001b\u0007]/);
    expect(said.split("\n").every((line) => line.length < 200)).toBe(true);
    expect(choice).toEqual(use(at(ollama, hostile.models[0] ?? ""), false));
  });

  it("sees thirty of a thousand models, and can name any", async () => {
    const models = Array.from({ length: 1_000 }, (_, index) => `m${index}`);
    const { said, choice } = await choose(["1", "m999", "y"], { found: [{ ...ollama, models }] });
    expect(said).toContain("and 970 more");
    expect(choice).toEqual(use(at(ollama, "m999")));
  });
});

const YES = ["y", "Y", "yes", "YES", " Yes ", "yEs\t"];
const NO = ["n", "N", "no", "NO", " No ", "nO\t"];

describe("a yes-or-no question", () => {
  const sure = (lines: readonly string[], isYes = true) =>
    ask(lines, (screen) => askYesNo(screen, { question: "Sure?", default: isYes, help: "HELP" }));

  it("takes yes and no in any case, and is left at the end of input", async () => {
    for (const line of YES) expect({ line, ...(await sure([line], false)) }).toMatchObject({ line, meaning: true });
    for (const line of NO) expect({ line, ...(await sure([line])) }).toMatchObject({ line, meaning: false });
    expect((await sure([])).meaning).toBeUndefined();
  });

  it.each([
    [true, "[Y/n]"],
    [false, "[y/N]"],
  ])("takes Enter for its default, %j, which it shows as %s", async (isYes, shown) => {
    for (const line of ["", "  "])
      expect(await sure([line], isYes)).toMatchObject({ meaning: isYes, asked: [`Sure? ${shown} `] });
  });

  it("explains its answers when it is asked to, and after anything else, and asks again", async () => {
    for (const line of ["?", "help", "HELP"])
      expect(await sure([line, "n"])).toMatchObject({ meaning: false, said: ["HELP"] });
    for (const line of ["maybe", "yn", "nope", "yes no", "1"]) {
      expect(await sure([line])).toMatchObject({ meaning: undefined });
      expect(await sure([line, "n"])).toMatchObject({ meaning: false });
    }
  });

  it.each<[lines: readonly string[], meaning: boolean | undefined]>([
    [["", "n"], true],
    [["no"], false],
    [[], undefined],
  ])("is whether to go on with the last agent: %j means %j", async (lines, meaning) => {
    expect((await ask(lines, (screen) => askToContinue(screen, last))).meaning).toBe(meaning);
  });
});

describe("the answer to a command that waits", () => {
  it.each(NO)("%j refuses it", (line) => {
    expect(readApproval(line)).toEqual({ kind: "refused" });
  });

  it.each([
    [" Yes ", 1],
    ["y -1", 1],
    ["y -12", 12],
    ["Y  - 3 ", 3],
    ["y -1000", 1000],
    ["y 5", 5],
    ["y5", 5],
    ["y-5", 5],
    ["YES -2", 2],
  ])("%j approves it and the next ones: %i", (line, count) => {
    expect(readApproval(line)).toEqual({ kind: "approved", count });
  });

  it.each([
    "yes please",
    "maybe",
    "nope",
    "1",
    "yesterday's file",
    "y 5 files are enough",
    "no, write it first",
    "n -5",
    "not so fast - write it first",
    " Use Other.txt ",
    "漢字",
  ])("%j is feedback", (line) => {
    expect(readApproval(line)).toEqual({ kind: "feedback", text: line.trim() });
  });

  it("is feedback without control characters", () => {
    expect(readApproval("a\u001b[2Jb")).toEqual({ kind: "feedback", text: "ab" });
  });

  it.each(["", "  ", "help", "\u001b[A", "y -", "y -0", "y 0", "y -1001", "y -1.5", "y -x", "y -99999999999", "?"])(
    "is asked for again after %j, with the grammar",
    (line) => {
      expect(readApproval(line)).toEqual({ kind: "unclear", why: expect.stringMatching(/y -[N5]/) });
    },
  );
});

it("a question for text explains itself after ?, says why it refuses an answer, and takes Enter as empty", async () => {
  const problemWith = (text: string) => (text === "bad" ? "WHY" : undefined);
  const name = (...lines: readonly string[]) =>
    ask(lines, (screen) => askText(screen, { question: "Name: ", help: "HELP", problemWith }));
  expect(await name("?", "bad", " good ")).toMatchObject({ meaning: "good", said: ["HELP", "WHY"] });
  expect([(await name("")).meaning, (await name()).meaning]).toEqual(["", undefined]);
});
