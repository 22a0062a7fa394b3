import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { problemsOfResult } from "../helpers/event-line-schema.ts";
import { type Goald, linesOf, makeGoald } from "../helpers/goald.ts";
import { ledger, ledgerText, numberedModel } from "../helpers/numbered-model.ts";
import { type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";

const KEY = "sk-planted-8Hq2vX5tLm9";
const AGENT = ["--name", "T", "--role", "r", "--goal", "g"];
const RUN = ["run", ...AGENT, "--continuous", "--json"];

describe("goald run with any server for chat completions", () => {
  let goald: Goald;
  let server: OpenAIServer;
  beforeAll(async () => {
    goald = await makeGoald();
    server = await startOpenAIServer({ reply: numberedModel(ledger(2)), apiKey: KEY });
  });
  afterAll(async () => {
    await server.close();
    await goald[Symbol.asyncDispose]();
  });

  it.each([
    ["OPENAI_BASE_URL and OPENAI_API_KEY", () => ({ OPENAI_BASE_URL: server.baseUrl, OPENAI_API_KEY: KEY }), ""],
    [
      "OPENAI_API_BASE_URL, AutoGPT's name",
      () => ({ OPENAI_API_BASE_URL: `${server.baseUrl}/`, OPENAI_API_KEY: KEY }),
      "",
    ],
    ["the home's .env alone", () => ({}), (url: string) => `OPENAI_BASE_URL=${url}\nOPENAI_API_KEY='${KEY}'\n`],
    [
      "the environment before the home's .env",
      () => ({ OPENAI_BASE_URL: server.baseUrl, OPENAI_API_KEY: KEY }),
      () => "OPENAI_BASE_URL=http://127.0.0.1:9/v1\nOPENAI_API_KEY=sk-another-one-123\n",
    ],
  ] as const)("runs until task_complete, set up by %s", async (_title, env, envFile) => {
    await goald.write(".env", typeof envFile === "string" ? envFile : envFile(server.baseUrl));
    const ended = await goald.run(RUN, { env: env() });
    expect(ended).toMatchObject({ code: 0, signal: null });
    const result = linesOf(ended).at(-1) ?? {};
    expect(problemsOfResult(result)).toBe("");
    expect(result).toMatchObject({
      outcome: "completed",
      reason: "All 2 tasks are done.",
      step: 3,
      modelCalls: 3,
      exitCode: 0,
    });
    expect(await goald.read(`workspace/${String(result.agent)}/ledger.txt`)).toBe(ledgerText(2));
    expect(ended.stdout + ended.stderr).not.toContain(KEY);
    expect(server.violations).toEqual([]);
  });

  it("needs no key for a server of one's own", async () => {
    await using open = await startOpenAIServer({ reply: numberedModel(ledger(1)) });
    await using other = await makeGoald({ OPENAI_BASE_URL: open.baseUrl });
    expect(await other.ask(RUN)).toMatchObject({ code: 0 });
    expect(open.requests.some(({ headers }) => headers.authorization !== undefined)).toBe(false);
    expect(open.violations).toEqual([]);
  });
});
