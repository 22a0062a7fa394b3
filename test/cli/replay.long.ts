import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { RecordedEvent } from "#core/event.ts";
import { endedWith, errorOf, type Goald, linesOf, lookInto, makeGoald } from "../helpers/goald.ts";
import { append, highestTask, ledger, ledgerText, numberedModel, replyWith } from "../helpers/numbered-model.ts";
import { failure } from "../helpers/openai-answers.ts";
import { type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";
import { killUnder } from "../helpers/under-hooks.ts";

const NO_NETWORK = [fileURLToPath(new URL("../helpers/no-network.child.ts", import.meta.url))];
const KILL = [fileURLToPath(new URL("../helpers/kill-at-commit.child.ts", import.meta.url))];
const KEY = "sk-planted-8Hq2vX5tLm9";
const ORGANIZATION = "org-planted-77Rt2";
const COOKIE = "cookie-planted-41Kz9";
const FOREIGN = "ghp_plantedPLANTED1234567890abcd";
const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"];

/** The last line of a replay holds its result. */
const resultOf = (ended: { readonly stdout: string }): Record<string, unknown> => linesOf(ended).at(-1) ?? {};
const recorded = (goald: Goald, name = "t.ndjson"): string => join(goald.cwd, name);
const linesIn = async (file: string): Promise<Record<string, unknown>[]> =>
  (await readFile(file, "utf8"))
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
const eventsIn = (ended: { readonly stdout: string }): readonly Record<string, unknown>[] =>
  linesOf(ended).slice(0, -1);

describe("a recorded run with secrets in many places", () => {
  let goald: Goald;
  let server: OpenAIServer;
  let log: readonly RecordedEvent[];
  let shown: readonly Record<string, unknown>[];
  beforeAll(async () => {
    server = await startOpenAIServer({
      apiKey: KEY,
      reply: (request) => {
        const next = highestTask(request) + 1;
        // The model repeats the key, and another key that goald does not know.
        const call = next <= 3 ? append(`line ${next}: ${KEY} ${FOREIGN}\n`) : undefined;
        const text = replyWith(call ?? { name: "task_complete", args: { reason: "done" } }, `Task ${next} of 3`);
        return {
          status: 200,
          headers: { "set-cookie": `s=${COOKIE}`, "openai-organization": ORGANIZATION },
          body: completion(text),
        };
      },
    });
    goald = await makeGoald({
      OPENAI_BASE_URL: server.baseUrl,
      OPENAI_API_KEY: KEY,
    });
    const ended = endedWith(0, await goald.run([...RUN, "--record", "t.ndjson"]));
    shown = eventsIn(ended);
    ({ log } = await lookInto(goald));
    await server.close();
  });
  afterAll(async () => {
    await goald[Symbol.asyncDispose]();
  });

  it("leaves a file that only its owner can read, without any secret in any form", async () => {
    const text = await readFile(recorded(goald), "utf8");
    expect((await stat(recorded(goald))).mode & 0o777).toBe(0o600);
    for (const secret of [KEY, ORGANIZATION, COOKIE, FOREIGN]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(Buffer.from(secret).toString("base64").slice(0, -4));
    }
    // The secrets did pass through, and other text is readable.
    expect(server.requests.some(({ headers }) => headers.authorization === `Bearer ${KEY}`)).toBe(true);
    expect(text).toContain("Task 3 of 3");
    expect(text).toContain("[redacted]");
  });

  it("replays without a network to the same events, state and files", async () => {
    const ended = endedWith(0, await goald.run(["replay", "t.ndjson", "--json"], { imports: NO_NETWORK }));
    expect(ended.stderr).toContain("in a home of its own: ");
    expect(ended.stderr).not.toContain("A socket was opened.");
    expect(resultOf(ended)).toMatchObject({ type: "replay", same: true, step: 4, files: 1, problems: [] });
    const { state, expected, events } = resultOf(ended) as Record<
      string,
      { readonly same: number; readonly all: number }
    >;
    expect(state).toBe(expected);
    expect(events).toEqual({ same: log.length - 1, all: log.length - 1 });
    expect(eventsIn(ended)).toEqual(shown);
  });

  it("uses the home that is named, and leaves a sound log there", async () => {
    const home = join(goald.cwd, "played");
    endedWith(0, await goald.run(["replay", "t.ndjson", "--home", home], { imports: NO_NETWORK }));
    const { log: played, problems } = await lookInto({ home });
    expect(problems).toEqual([]);
    expect(played).toEqual(log);
    expect(await readFile(join(home, "workspace/t/ledger.txt"), "utf8")).toBe(
      await goald.read("workspace/t/ledger.txt"),
    );
  });

  it("would fail on a socket: the same trap ends a run that opens one (control)", async () => {
    const running = goald.start([...RUN, "--max-steps", "1"], { imports: NO_NETWORK });
    await running.see("A socket was opened.", "stderr");
    running.kill("SIGKILL");
    await running.ended;
  });

  it.each([
    [
      "a missing answer",
      (lines: Record<string, unknown>[]) => lines.filter(({ type, step }) => type !== "answer" || step !== 3),
      /^Step 3 is not as it was recorded: it asks the embedder, request 1, which is not in the recording\.$/,
    ],
    [
      "an answer without a request",
      (lines: Record<string, unknown>[]) =>
        lines.toSpliced(-1, 0, { ...lines.find(({ type }) => type === "answer"), step: 9 }),
      /^Step 4 is not as it was recorded: the recording holds a request that was not made: step 9, to the \w+\.$/,
    ],
    [
      "an answer with another text",
      (lines: Record<string, unknown>[]) =>
        lines.map((line) =>
          line.type === "answer" && line.step === 2
            ? JSON.parse(JSON.stringify(line).replaceAll("line 2", "line two"))
            : line,
        ),
      /^Step 2 is not as it was recorded: after event \d+ \([\w-]+\) the agent's state is another one\.$/,
    ],
  ])("reports %s", async (_title, change, message) => {
    const lines = change(await linesIn(recorded(goald)));
    await writeFile(recorded(goald, "changed.ndjson"), `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
    const ended = endedWith(
      1,
      await goald.run(["replay", "changed.ndjson", "--json"], { imports: NO_NETWORK, env: { TMPDIR: goald.cwd } }),
    );
    const last = ended.stderr.trim().split("\n").at(-1) ?? "";
    expect(errorOf({ ...ended, stderr: last })).toMatchObject({
      code: "GOALD_REPLAY",
      message: expect.stringMatching(message),
    });
  });

  it("reports the difference when the home has another prompt template", async () => {
    await using other = await makeGoald();
    await other.write("prompts/system.md", "## evaluation\nBe quick.\n");
    const ended = endedWith(
      1,
      await other.run(["replay", recorded(goald)], { imports: NO_NETWORK, env: { TMPDIR: other.cwd } }),
    );
    expect(ended.stderr).toMatch(
      /Step 1 is not as it was recorded: request \d differs: it\.messages\[0\]\.content differs from character \d+ on: it was "[\s\S]+", and is "[\s\S]*Be quick\./,
    );
    expect(ended.stderr).toContain("The commands or words are not those of the recording.");
  });

  it("refuses to record into an existing file (exit 2)", async () => {
    const ended = endedWith(2, await goald.run([...RUN, "--record", "t.ndjson"]));
    expect(ended.stderr + ended.stdout).toContain("There is a file ");
  });
});

describe("a recorded run that was killed and resumed", () => {
  const STEPS = 4;

  it.each(["9:after", "12:before"])("is one recording and one replay after a kill at commit %s", async (point) => {
    await using server = await startOpenAIServer({ reply: numberedModel(ledger(STEPS)), embeddings: null });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    const hooks = { imports: KILL, env: { KILL_AT_COMMIT: point } };
    const killed = await killUnder(hooks, goald, [...RUN, "--record", "t.ndjson"]);
    expect(killed.signal).toBe("SIGKILL");
    endedWith(0, await goald.run(["resume", "t", "--json", "--record", "t.ndjson"]));
    const { log } = await lookInto(goald);
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(STEPS));
    const home = join(goald.cwd, "played");
    const ended = await goald.run(["replay", "t.ndjson", "--json", "--home", home], { imports: NO_NETWORK });
    expect(resultOf(endedWith(0, ended))).toMatchObject({ same: true, sessions: 2, files: 1 });
    expect((await lookInto({ home })).log).toEqual(log);
  });

  it("is rejected if a part of it was not recorded", async () => {
    await using server = await startOpenAIServer({ reply: numberedModel(ledger(3)), embeddings: null });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    endedWith(6, await goald.run([...RUN, "--max-steps", "1", "--record", "t.ndjson"]));
    // The daemon would go on with the recording.
    endedWith(0, await goald.ask(["down"]));
    await rm(join(goald.home, ".goald", "recordings"), { recursive: true });
    endedWith(6, await goald.run(["resume", "t", "--max-steps", "1", "--json"]));
    const ended = endedWith(2, await goald.run(["resume", "t", "--record", "t.ndjson"]));
    expect(ended.stderr).toContain("it went on without being recorded");
    const other = (await readFile(recorded(goald), "utf8")).replace('"id":"t"', '"id":"u"');
    await writeFile(recorded(goald, "other.ndjson"), other);
    const refused = endedWith(2, await goald.run(["resume", "t", "--record", "other.ndjson"]));
    expect(refused.stderr).toContain("other.ndjson is a recording of u, made at ");
    // The recorded part can still be replayed.
    expect(resultOf(endedWith(0, await goald.run(["replay", "t.ndjson", "--json"])))).toMatchObject({
      same: true,
      step: 1,
    });
  });
});

describe("the acts of a person during a recorded run", () => {
  it("are replayed too: approvals, words, Ctrl-C, and a file of their own", async () => {
    await using server = await startOpenAIServer({
      reply: numberedModel([{ name: "read_file", args: { file: "own.txt" } }, ...ledger(2)]),
      embeddings: null,
    });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    const terminal = goald.openTerminal(["run", "--name", "T", "--role", "r", "-g", "g", "--record", "t.ndjson"]);
    await terminal.see("Run it? ");
    await goald.write("workspace/t/own.txt", "mine alone\n");
    terminal.type("y\r");
    await terminal.see("mine alone");
    await terminal.answer("Run it? ", "Write it in French please");
    await terminal.answer("Run it? ", "y");
    await terminal.answer("Run it? ", "n");
    expect((await terminal.ended).code).toBe(11);
    endedWith(0, await goald.run(["resume", "t", "--json", "--continuous", "--record", "t.ndjson"]));
    const ended = await goald.run(["replay", "t.ndjson", "--json"], { imports: NO_NETWORK });
    expect(resultOf(endedWith(0, ended))).toMatchObject({ same: true, sessions: 2, problems: [] });
    expect(ended.stdout).toContain("Write it in French please");
    expect(ended.stdout).toContain("mine alone");
  });
});

describe("a run with failures", () => {
  it("replays rejections, limits, broken replies, and memories of an earlier run", async () => {
    const think = numberedModel(ledger(2));
    let count = 0;
    await using server = await startOpenAIServer({
      embeddings: null,
      reply: (request) => {
        // The rejected field is not sent again.
        if ("response_format" in request) return failure(400, "response_format json_schema is not supported");
        count++;
        if (count === 1) return failure(500, "overloaded");
        return count === 2 ? { fault: "cut" } : think(request);
      },
    });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    for (const name of ["first", "second"]) {
      count = 0;
      endedWith(0, await goald.run([...RUN, "--record", `${name}.ndjson`]));
      const ended = await goald.run(["replay", `${name}.ndjson`, "--json"], { imports: NO_NETWORK });
      expect(resultOf(endedWith(0, ended))).toMatchObject({ same: true, step: 3, files: 1 });
      expect(ended.stdout.match(/"model-failed"/g)?.length).toBeGreaterThanOrEqual(2);
    }
  });
});

describe("a command of the home that reaches outside without HTTP", () => {
  const DICE = `import { randomInt } from "node:crypto";
import { appendFileSync } from "node:fs";
export default {
  name: "dice", label: "Dice", summary: "throws dice.", args: { type: "object", properties: {} },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: true }, effect: "at-most-once",
  async run(_args, { workspace }) {
    appendFileSync(process.env.THROWS, "x");
    const thrown = randomInt(2 ** 40);
    await workspace.write("thrown.txt", String(thrown));
    return { status: "ok", text: "It shows " + thrown + ".", source: "web", artifacts: ["thrown.txt"] };
  },
};`;

  it("does not run in the replay, which takes its result and files from the recording", async () => {
    const calls = [
      { name: "dice", args: {} },
      { name: "read_file", args: { file: "thrown.txt" } },
    ];
    await using server = await startOpenAIServer({ reply: numberedModel(calls), embeddings: null });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    const throws = join(goald.cwd, "throws");
    await goald.write("commands/dice.ts", DICE);
    endedWith(0, await goald.run([...RUN, "--record", "t.ndjson"], { env: { THROWS: throws } }));
    const ended = await goald.run(["replay", "t.ndjson", "--json"], { imports: NO_NETWORK, env: { THROWS: throws } });
    expect(resultOf(endedWith(0, ended))).toMatchObject({ same: true, files: 1 });
    expect(ended.stdout).toContain(`It shows ${await goald.read("workspace/t/thrown.txt")}.`);
    expect(await readFile(throws, "utf8")).toBe("x");
  });
});

const completion = (content: string): object => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 0,
  model: "m",
  choices: [
    { index: 0, finish_reason: "stop", logprobs: null, message: { role: "assistant", content, refusal: null } },
  ],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});

describe("a recorded demo", () => {
  it("replays without a network, with its searches and pages, to the same state and files", async () => {
    await using goald = await makeGoald();
    const demo = endedWith(0, await goald.run(["demo", "--record", "demo.ndjson"]));
    const [, state = ""] = /^State: ([0-9a-f]{64})$/m.exec(demo.stdout) ?? [];
    const answers = (await linesIn(recorded(goald, "demo.ndjson"))).filter(({ type }) => type === "answer");
    expect(answers).toHaveLength(14);
    const replayed = endedWith(
      0,
      await goald.run(["replay", recorded(goald, "demo.ndjson"), "--json"], { imports: NO_NETWORK }),
    );
    expect(resultOf(replayed)).toMatchObject({ state });
  });
});
