import { lstat, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { type ConnectionChoice, chooseConnection, type FoundServer, saveKey } from "#cli/terminal/set-up.ts";
import { scriptedLines } from "../../helpers/scripted-lines.ts";

const ollama: FoundServer = { name: "Ollama", baseUrl: "http://127.0.0.1:11434/v1", models: ["llama3", "qwen3"] };
const llama: FoundServer = { name: "llama.cpp", baseUrl: "http://127.0.0.1:8080/v1", models: ["only"] };
const KEY = "sk-abcdefgh";

async function choose(lines: readonly string[], servers: readonly FoundServer[] = []) {
  const input = scriptedLines(lines);
  const said: string[] = [];
  const choice = await chooseConnection(input, (line) => said.push(line), servers);
  return { choice, said: said.join("\n"), asked: input.asked };
}
const server = (found: FoundServer, model: string): ConnectionChoice => ({
  kind: "server",
  baseUrl: found.baseUrl,
  model,
});

describe("a person without a key", () => {
  it.each<[title: string, lines: string[], choice: ConnectionChoice]>([
    ["pastes one and keeps it", ["1", ` ${KEY} `, "y"], { kind: "key", apiKey: KEY, save: true }],
    ["pastes one for this time", ["1", KEY, "n"], { kind: "key", apiKey: KEY, save: false }],
    ["keeps nothing by Enter", ["1", KEY, ""], { kind: "key", apiKey: KEY, save: false }],
    [
      "pastes something else first",
      ["1", "your-openai-api-key", "1", "a b c d e f", "1", KEY, "Yes"],
      { kind: "key", apiKey: KEY, save: true },
    ],
    ["uses a server's model by its number", ["2", "2"], server(ollama, "qwen3")],
    ["uses a server's model by its name", ["2", "gpt", "9", "llama3"], server(ollama, "llama3")],
    ["uses a server with one model", ["3"], server(llama, "only")],
    ["watches the demo", ["4"], { kind: "demo" }],
    ["leaves", [], { kind: "left" }],
    ["leaves at the key", ["1"], { kind: "left" }],
    ["leaves before the key is kept", ["1", KEY], { kind: "left" }],
    ["leaves at the model", ["2"], { kind: "left" }],
  ])("%s", async (_title, lines, choice) => {
    expect((await choose(lines, [ollama, llama])).choice).toEqual(choice);
  });

  it("is asked until there is an answer: nothing is chosen by itself", async () => {
    const { choice, asked } = await choose(["", "0", "5", "-1", "two", "1.0", "4"], [ollama, llama]);
    expect(choice).toEqual({ kind: "demo" });
    expect(asked).toHaveLength(7);
  });

  it("is not offered a server without models", async () => {
    const { choice, said } = await choose(["2"], [{ ...ollama, models: [] }]);
    expect(choice).toEqual({ kind: "demo" });
    expect(said).not.toContain("Ollama");
  });

  it("types the key unseen, and never reads it back", async () => {
    const { said, asked } = await choose(["1", KEY, "y"]);
    expect(asked.filter((question) => question.startsWith("(secret)"))).toHaveLength(1);
    expect(said + asked.join("\n")).not.toContain(KEY);
  });

  it("sees what a server says of itself in one line without control characters", async () => {
    const hostile = {
      ...ollama,
      name: "Oll\u001b[2Jama\n  9  pay",
      models: ["a\u001b]0;x\u0007b\nc", "d".repeat(500)],
    };
    const { said, choice } = await choose(["2", "1"], [hostile]);
    expect(said).not.toMatch(/[\u001b\u0007]/);
    expect(said.split("\n").every((line) => line.length < 200)).toBe(true);
    expect(choice).toEqual(server(ollama, hostile.models[0] ?? ""));
  });

  it("sees thirty of a thousand models, and can name any", async () => {
    const models = Array.from({ length: 1_000 }, (_, index) => `m${index}`);
    const { said, choice } = await choose(["2", "m999"], [{ ...ollama, models }]);
    expect(said).toContain("and 970 more");
    expect(choice).toEqual(server(ollama, "m999"));
  });
});

it("a key is kept in a file that only its owner reads", async () => {
  const folder = await mkdtemp(join(tmpdir(), "goald-connect-"));
  try {
    await saveKey(join(folder, ".env"), KEY);
    expect(await readFile(join(folder, ".env"), "utf8")).toBe(`OPENAI_API_KEY=${KEY}\n`);
    expect((await lstat(join(folder, ".env"))).mode & 0o777).toBe(0o600);
  } finally {
    await rm(folder, { recursive: true });
  }
});
