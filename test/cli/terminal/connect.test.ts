import { describe, expect, it } from "@jest/globals";
import {
  type ConnectionChoice,
  chooseConnection,
  type FoundServer,
  type ServerChoice,
  type ServerProbe,
} from "#cli/terminal/set-up.ts";
import { scriptedLines } from "../../helpers/scripted-lines.ts";

const ollama: FoundServer = { name: "Ollama", baseUrl: "http://127.0.0.1:11434/v1", models: ["llama3", "qwen3"] };
const llama: FoundServer = { name: "llama.cpp", baseUrl: "http://127.0.0.1:8080/v1", models: ["only"] };
const KEY = "sk-abcdefgh";
const ADDRESS = "https://models.example/v1";

interface World {
  readonly found?: readonly FoundServer[];
  readonly list?: ServerProbe["list"];
  readonly test?: ServerProbe["test"];
}

/** By default every server answers, and the one at the typed address lists two models. */
async function choose(lines: readonly string[], { found = [ollama, llama], ...given }: World = {}) {
  const input = scriptedLines(lines);
  const said: string[] = [];
  const tested: ServerChoice[] = [];
  const listed: ServerChoice[] = [];
  const { list = async () => ["big", "small"], test = async () => "It answered in 0.1 s." } = given;
  const probe: ServerProbe = {
    found,
    list: (server) => list(listed[listed.push(server) - 1] ?? {}),
    test: (server) => test(tested[tested.push(server) - 1] ?? {}),
  };
  const choice = await chooseConnection(
    { input: () => input, say: (line) => said.push(line) },
    probe,
    "/home/ada/goald/.env",
  );
  return { choice, said: said.join("\n"), asked: input.asked, tested, listed };
}
const use = (server: ServerChoice, save = true): ConnectionChoice => ({ kind: "server", server, save });
const at = ({ baseUrl }: FoundServer, model: string): ServerChoice => ({ baseUrl, model });

describe("a person without a model", () => {
  it.each<[title: string, lines: string[], choice: ConnectionChoice]>([
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
  ])("%s", async (_title, lines, choice) => {
    expect((await choose(lines)).choice).toEqual(choice);
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

  it("names the model of a server without a list", async () => {
    const { choice } = await choose(["3", ADDRESS, "", "", "my-model", "y"], { list: async () => undefined });
    expect(choice).toEqual(use({ baseUrl: ADDRESS, model: "my-model" }));
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
