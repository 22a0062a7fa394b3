import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { problemsOfEvent, problemsOfResult } from "../helpers/event-line-schema.ts";
import { type Ended, type Goald, jsonOf, linesOf, makeGoald } from "../helpers/goald.ts";
import { append, ledger, numberedModel, write } from "../helpers/numbered-model.ts";
import { type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";

const AGENT = ["--name", "T", "--role", "r", "--goal", "g"];
const RUN = ["run", ...AGENT, "--continuous", "--json"];

describe.each([
  ["with the server's embeddings", undefined],
  ["on a server without embeddings", null],
] as const)("a run of 25 steps %s", (_title, embeddings) => {
  const STEPS = 25;
  const calls = Array.from({ length: STEPS - 1 }, (_, at) =>
    at % 3 === 0
      ? write(`notes-${at}.md`, `Finding ${at * 71} about clay, grass and rain ${at}.\n`)
      : append(`line ${at}\n`),
  );
  let goald: Goald;
  let server: OpenAIServer;
  let ended: Ended;
  beforeAll(async () => {
    server = await startOpenAIServer({
      reply: numberedModel(calls),
      ...(embeddings === null ? { embeddings } : {}),
    });
    goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, OPENAI_API_KEY: "x" });
    ended = await goald.run(RUN);
  });
  afterAll(async () => {
    await server.close();
    await goald[Symbol.asyncDispose]();
  });

  it("sends only requests that a strict server accepts until its end", () => {
    expect(ended).toMatchObject({ code: 0 });
    expect(server.chats).toHaveLength(STEPS);
    expect(server.violations).toEqual([]);
  });

  it("reports where it works, and the status where memory works if the server has no embeddings", async () => {
    expect(ended.stderr).toBe(`T (t) works in ${goald.home}/workspace/t\n`);
    const { problems } = jsonOf<{ problems: readonly string[] }>(await goald.ask(["status", "--json"]));
    expect(problems).toEqual(embeddings === null ? [expect.stringMatching(/^Memory works offline: /)] : []);
  });

  it("prints only valid JSON events to standard output, one per line, and the result at the end", () => {
    const lines = linesOf(ended);
    expect(lines.slice(0, -1).map(problemsOfEvent).filter(Boolean)).toEqual([]);
    expect(problemsOfResult(lines.at(-1))).toBe("");
    const numbers = lines.slice(0, -1).map(({ seq }) => seq);
    expect(numbers).toEqual(numbers.map((_, at) => at + 1));
    expect(lines.filter(({ type }) => type === "command-finished")).toHaveLength(STEPS);
  });

  it("would fail on an invalid event: the schema rejects a missing number or an extra field (control)", () => {
    const [first] = linesOf(ended);
    expect(problemsOfEvent(first)).toBe("");
    const { seq: _seq, ...numberless } = first ?? {};
    expect(problemsOfEvent(numberless)).toContain("seq");
    expect(problemsOfEvent({ ...first, extra: 1 })).toContain("additional properties");
    expect(problemsOfEvent({ ...first, type: "agent-fired" })).toContain("agent-fired");
    expect(problemsOfResult(first)).not.toBe("");
  });

  it("prints the same lines again with goald events --json", async () => {
    const again = linesOf(await goald.ask(["events", "t", "--json"]));
    const shown = linesOf(ended).slice(0, -1);
    expect(again).toEqual(shown);
  });

  it("sends the sections of the system message in order, and the same text in every request", () => {
    const system = server.chats.map(({ messages }) => messages[0]);
    expect(new Set(system.map((message) => JSON.stringify(message))).size).toBe(1);
    expect(system[0]?.role).toBe("system");
    const content = system[0]?.content ?? "";
    expect(content.startsWith("You are T, r")).toBe(true);
    const sections = [
      "You are T",
      "GOALS:",
      "Constraints:",
      "Commands:",
      "Resources:",
      "Performance Evaluation:",
      "Response Format:",
    ];
    const places = sections.map((section) => content.indexOf(section));
    expect(places).not.toContain(-1);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(content).toContain("GOALS:\n1. g\n");
  });

  it("sends at most the last nine messages, oldest first, and then one request", () => {
    for (const [index, { messages }] of server.chats.entries()) {
      expect(messages.map(({ role }) => role).filter((role) => role === "system")).toHaveLength(1);
      expect(messages.at(-1)?.role).toBe("user");
      expect(messages.at(-1)?.content).toMatch(/^It is now \d{4}-/);
      // Each step adds a reply and a result.
      expect(messages.length - 2).toBe(Math.min(9, 2 * index));
      const steps = messages
        .slice(1, -1)
        .map(({ content }) => Number(/Task (\d+) of|\(step (\d+)\)/.exec(content)?.slice(1).find(Boolean)));
      expect(steps).toEqual([...steps].sort((a, b) => a - b));
      if (index > 0) expect(steps.at(-1)).toBe(index);
    }
  });

  it("recalls up to ten events, without duplicates or steps that the prompt shows", () => {
    for (const [index, { messages }] of server.chats.entries()) {
      const rows = recallsIn(messages.at(-1)?.content ?? "");
      const shown = new Set(
        messages
          .slice(1, -1)
          .map(({ content }) => Number(/Task (\d+) of|\(step (\d+)\)/.exec(content)?.slice(1).find(Boolean))),
      );
      expect(rows.filter(({ step }) => shown.has(step))).toEqual([]);
      expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
      expect(rows).toHaveLength(Math.min(10, index - shown.size));
    }
    expect(recallsIn(server.chats.at(-1)?.messages.at(-1)?.content ?? "")).toHaveLength(10);
  });

  it("records in each model-asked event what the prompt contained", () => {
    const asked = linesOf(ended).filter(({ type }) => type === "model-asked");
    const shown = server.chats.map(({ messages }) => recallsIn(messages.at(-1)?.content ?? "").map(({ id }) => id));
    const sorted = (lists: readonly (readonly string[])[]) => lists.map((ids) => ids.toSorted());
    // Recalls that share a passage are in the order of the memory.
    expect(sorted(asked.map(({ recallIds }) => recallIds as readonly string[]))).toEqual(sorted(shown));
  });
});

interface RecallRow {
  readonly id: string;
  readonly step: number;
}
const recallsIn = (content: string): readonly RecallRow[] =>
  [...content.matchAll(/^\[([^|\]]+) \| step (\d+) \|/gm)].map((match) => ({
    id: match[1] as string,
    step: Number(match[2]),
  }));

describe("text that looks like a key", () => {
  it("is redacted in every line of the log, during the run and afterwards", async () => {
    await using server = await startOpenAIServer({ reply: numberedModel(ledger(1)) });
    await using other = await makeGoald({ OPENAI_BASE_URL: server.baseUrl });
    const looksLikeKey = "ghp_plantedPLANTED1234567890abcdefghijk";
    const said = [
      await other.ask(["run", "--goal", `Log in with ${looksLikeKey}`, "--continuous", "--json"]),
      await other.ask(["events", "goald", "--json"]),
      await other.ask(["events", "goald"]),
    ];
    for (const { code, stdout } of said) {
      expect(code).toBe(0);
      expect(stdout).toContain("task_complete");
      expect(stdout).not.toContain(looksLikeKey);
    }
    expect(linesOf(said[1] as Ended)[0]).toMatchObject({ seq: 1, goals: ["Log in with [redacted]"] });
  });
});
