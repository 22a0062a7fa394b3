import { execFileSync } from "node:child_process";
import { open, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "@jest/globals";
import { type AskPort, playAnswers, recordAnswers, tapePorts } from "#cassette/answers.ts";
import { openEdges, readDemoScript } from "#cassette/demo-script.ts";
import { type AnswerLine, type Line, ofType, type Session } from "#cassette/format.ts";
import { playSandbox, recordSandbox } from "#cassette/record-cells.ts";
import type { Recorder } from "#cassette/recorder.ts";
import { findLineProblem, readCassette, readSessions } from "#cassette/recording-file.ts";
import { Recordings } from "#cassette/recordings.ts";
import type { Place } from "#cassette/tape.ts";
import type { CommandCall } from "#core/call.ts";
import { GoaldError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { AddressStatus } from "#core/goal-check.ts";
import type { Embedder } from "#core/ports/memory.ts";
import type { LanguageModel, ModelAnswer } from "#core/ports/model.ts";
import type { CellBridge } from "#core/ports/sandbox.ts";
import { makeRecording, recordRun } from "../helpers/daemon-home.ts";
import { type CellBehaviour, cellOf, cellValue, createFakeSandbox } from "../helpers/fake-sandbox.ts";
import { failureOf, useShared } from "../helpers/folder.ts";
import { endedWith, errorOf, jsonOf, linesOf, lookInto, readStore } from "../helpers/goald.ts";
import { append, highestTask, replyWith } from "../helpers/models.ts";
import { type Answer, type ChatRequest, cut } from "../helpers/openai-server.ts";

const SECRET = "sk-very-secret";
const redact = (text: string): string => text.replaceAll(SECRET, "[secret]");
const { signal } = new AbortController();
const PLACE: Place = { step: 3, attempt: 1 };
const USAGE = { inputTokens: 5, outputTokens: 2, cachedTokens: 0, estimated: false };
const replied = (text: string): ModelAnswer => ({ kind: "replied", text, finishReason: "stop", usage: USAGE });
const request = (content: string) => ({ model: "m", messages: [{ role: "user", content }] }) as const;
const unopened = (): never => fail("A replay opens nothing.");

/** Records what `use` asks, and returns the lines as a file holds them. */
async function record(use: (ask: AskPort) => Promise<unknown>, place: () => Place | null = () => PLACE) {
  const lines: AnswerLine[] = [];
  await use(recordAnswers({ redact, place, write: (line) => void lines.push(line) })).catch(() => undefined);
  return JSON.parse(JSON.stringify(lines)) as readonly AnswerLine[];
}
const fail = (what: string): never => {
  throw new Error(what);
};
const play = (lines: readonly AnswerLine[]) => playAnswers(lines, () => PLACE, redact, fail);
const keep = <T>(_name: string, compute: () => Promise<T>): Promise<T> => compute();
const tapeModel = (open: () => LanguageModel, ask: AskPort) => tapePorts(ask, keep).model(open);
const tapeEmbedder = (embedder: Embedder, ask: AskPort) => tapePorts(ask, keep).embedder(embedder);
const model = (answer: ModelAnswer): LanguageModel => ({
  complete: async (_request, _signal, onText) => {
    if (answer.kind === "replied") for (const piece of answer.text.match(/.{1,4}/gs) ?? []) onText?.(piece);
    return answer;
  },
});

describe("what the model answers", () => {
  it("is played as it was recorded, failures too, and no model is opened", async () => {
    const failed: ModelAnswer = { kind: "failed", code: "rate-limited", message: "busy", retry: { afterMs: 5 } };
    for (const answer of [replied("hello"), failed]) {
      const lines = await record((ask) => tapeModel(() => model(answer), ask).complete(request("a"), signal));
      const played = play(lines);
      const shown: string[] = [];
      const given = await tapeModel(unopened, played.ask).complete(request("a"), signal, (piece) => shown.push(piece));
      expect(given).toEqual(answer);
      expect(shown).toEqual(answer.kind === "replied" ? ["hello"] : []);
      expect([played.played, played.left()]).toEqual([1, undefined]);
    }
  });

  it("keeps no secret, also when it comes in pieces of four characters", async () => {
    const live: string[] = [];
    const answer = replied(`It is ${SECRET}, I think.`);
    const lines = await record((ask) =>
      tapeModel(() => model(answer), ask).complete(request(`Is it ${SECRET}?`), signal, (piece) => live.push(piece)),
    );
    expect(live.length).toBeGreaterThan(5);
    expect(JSON.stringify(lines)).not.toContain(SECRET);
    expect(JSON.stringify(lines)).toContain("It is [secret], I think.");
  });

  it("is given only for the same request, with the difference named, and is missed when it is not asked for", async () => {
    const use = (ask: AskPort) => tapeModel(() => model(replied("a")), ask).complete(request("one"), signal);
    // Inside a call whose outcome is recorded as a whole nothing is recorded.
    expect(await record(use, () => null)).toEqual([]);
    const lines = await record(use);
    expect(play(lines).left()).toBe("step 3, to the model");
    const other = tapeModel(unopened, play(lines).ask).complete(request("two"), signal);
    await expect(other).rejects.toThrow(/request 1 differs: it\.messages\[0\]\.content differs from character 1/);
    const { ask } = play([]);
    await expect(tapeModel(unopened, ask).complete(request("one"), signal)).rejects.toThrow(/not in the recording/);
  });
});

describe("what an embedder answers", () => {
  const embedder = (fails = false): Embedder => ({
    id: "e@0",
    dimensions: 0,
    local: false,
    semantic: true,
    embed: async (texts, _signal, countTokens) => {
      countTokens?.(7);
      if (fails) throw new GoaldError("GOALD_HTTP_REFUSED", `No embeddings for ${SECRET}.`);
      return texts.map((text) => Float32Array.of(text.length, 0.1, -1e-9));
    },
  });

  it("is played to the bit, and tells its dimensions from the first answer on", async () => {
    const lines = await record((ask) => tapeEmbedder(embedder(), ask).embed(["one", "three"], signal));
    const played = tapeEmbedder(embedder(true), play(lines).ask);
    expect([played.id, played.dimensions]).toEqual(["e@0", 0]);
    expect(await played.embed(["one", "three"], signal)).toEqual(await embedder().embed(["one", "three"], signal));
    expect([played.id, played.dimensions]).toEqual(["e@3", 3]);
  });

  it("may be a failure, which is played with its code and its cost", async () => {
    const lines = await record((ask) => tapeEmbedder(embedder(true), ask).embed(["one"], signal));
    const counted: number[] = [];
    const again = tapeEmbedder(embedder(), play(lines).ask).embed(["one"], signal, (tokens) => counted.push(tokens));
    await expect(again).rejects.toMatchObject({ code: "GOALD_HTTP_REFUSED", message: "No embeddings for [secret]." });
    expect(counted).toEqual([7]);
  });
});

it("the status of an address is played without asking the address", async () => {
  const status = (ask: AskPort, get: AddressStatus["get"]) =>
    tapePorts(ask, keep).statuses({ get }).get("https://a.example/", { follows: true }, signal);
  const lines = await record((ask) => status(ask, async () => 204));
  expect(await status(play(lines).ask, unopened)).toBe(204);
});

const PLAIN = "MARKERkey-7f3a9c1e5b2d8f604a6c";
const ODD = 'MARKER"o\\d/d key+é&%';

const escapeUnits = (text: string): string =>
  text.replace(/[a-z]/g, (unit) => `\\u00${unit.charCodeAt(0).toString(16).toUpperCase()}`);
const json = (text: string): string => JSON.stringify(text).slice(1, -1);
const base64 = (text: string): string => Buffer.from(`user:${text}:more`).toString("base64");

/** Writes a secret as texts hold it, and returns the part that must not survive. */
const FORMS: readonly (readonly [name: string, write: (secret: string) => string])[] = [
  ["plain", (secret) => secret],
  ["in JSON", json],
  ["in JSON in JSON", (secret) => json(json(secret))],
  ["with escaped letters", (secret) => escapeUnits(json(secret))],
  ["with letters escaped twice", (secret) => json(escapeUnits(json(secret)))],
  ["in a URL", encodeURIComponent],
  ["in a URL with escaped letters", (secret) => encodeURIComponent(secret).replaceAll("k", "%6b")],
  ["in a form", (secret) => new URLSearchParams([["", secret]]).toString().slice(1)],
  ["in base64", base64],
  ["in base64url", (secret) => base64(secret).replaceAll("+", "-").replaceAll("/", "_")],
  ["in HTML", (secret) => secret.replaceAll("&", "&amp;").replaceAll('"', "&quot;")],
];
const written = [PLAIN, ODD].flatMap((secret) => FORMS.map(([name, write]) => [name, write(secret)] as const));

const chunkOf = (delta: object, reason: string | null = null): string =>
  JSON.stringify({ id: "x", choices: [{ index: 0, delta, finish_reason: reason }] });

describe("a recording of a run whose model repeats the key in pieces", () => {
  const run = useShared(async () => {
    const reply = (request: ChatRequest): Answer => {
      const next = highestTask(request) + 1;
      const [, text = ""] = written[next - 1] ?? [];
      if (next > written.length)
        return replyWith({ name: "task_complete", args: { reason: "done" } }, `Task ${next} of 9`);
      const whole = replyWith(append(`${next} ${text} and ${json(text)}\n`), `Task ${next} of 9`);
      // Every third reply reports no usage, and another one is compressed.
      if (next % 3 === 0) return { text: whole, usage: null, streamed: { pieces: cut(whole, 4) } };
      if (next % 3 === 1) return { text: whole, streamed: { pieces: cut(whole, next) } };
      const chunks = [...cut(whole, 5).map((content) => chunkOf({ content })), chunkOf({}, "stop"), "[DONE]"];
      const headers = { "content-type": "text/event-stream", "content-encoding": "gzip" };
      return { status: 200, headers, body: gzipSync(chunks.map((chunk) => `data: ${chunk}\n\n`).join("")) };
    };
    const files = { ".env": `GITHUB_TOKEN='${ODD}'\n` };
    const recorded = await recordRun(reply, { env: { OPENAI_API_KEY: PLAIN }, files });
    endedWith(0, recorded.ended);
    return recorded;
  });

  it("holds no form of it in its lines", async () => {
    const path = join(run.goald.cwd, "t.ndjson");
    const text = await readFile(path, "utf8");
    expect(written.filter(([, secret]) => text.includes(secret))).toEqual([]);
    const answers = readCassette(path).sessions.flatMap((session) => ofType(session, "answer"));
    expect(answers.filter(({ answer }) => JSON.stringify(answer).includes("[redacted]"))).toHaveLength(written.length);
  });

  it("replays without the keys to the same events and state", async () => {
    const ended = await run.goald.ask(["replay", "t.ndjson", "--json"], { env: { OPENAI_API_KEY: undefined } });
    const last = linesOf(endedWith(0, ended)).at(-1) ?? {};
    expect(last).toMatchObject({ same: true, step: written.length + 1, problems: [] });
    const { same, all } = last.events as { same: number; all: number };
    expect(same).toBe(all);
  });
});

// A recorded run in which the agent notes, corrects and hides memories replays to the same rows, recalls and prompts.

const remember = (subject: string, attribute: string, value: string): CommandCall => ({
  name: "remember",
  args: { subject, attribute, value },
});
/** Returns the id that the prompt shows for a recalled text. Throws when it shows none. */
function idOf(text: string, { messages }: ChatRequest): string {
  const prompt = messages.map(({ content }) => content).join("\n");
  const line = prompt.split("\n").findLast((each) => each.includes(text) && /\bt\/\d+\.\d+\b/.test(each));
  const id = /\bt\/\d+\.\d+\b/.exec(line ?? "")?.[0];
  if (id === undefined) throw new Error(`No recall shows ${JSON.stringify(text)}:\n${prompt}`);
  return id;
}

/** Work between the notes and their use, after which the prompt shows the notes as recalls alone. */
const WORK = Array.from({ length: 8 }, (_, at) => append(`line ${at}\n`, `depot-${at}.txt`));
const CALLS: readonly (CommandCall | ((request: ChatRequest) => CommandCall))[] = [
  remember("depot", "opening hour", "six"),
  remember("depot", "opening hour", "seven"),
  remember("depot", "guard", "Anselm"),
  ...WORK,
  (request) => ({ name: "correct_memory", args: { id: idOf("opening hour: seven", request), text: "eight" } }),
  (request) => ({ name: "forget_memory", args: { id: idOf("depot: guard: Anselm", request) } }),
  ...WORK,
];

const run = useShared(async () => {
  const recorded = await recordRun((request) => {
    const next = highestTask(request) + 1;
    const call = CALLS[next - 1] ?? { name: "task_complete", args: { reason: "All is done at the depot." } };
    const thought = `Task ${next} of ${CALLS.length}: what about the depot, its opening hour and its guard?`;
    return replyWith(typeof call === "function" ? call(request) : call, thought);
  });
  const { goald, server } = recorded;
  endedWith(0, recorded.ended);
  expect(server.violations).toEqual([]);
  const played = join(goald.cwd, "played");
  const ended = endedWith(0, await goald.ask(["replay", "t.ndjson", "--json", "--home", played]));
  expect(linesOf(ended).at(-1)).toMatchObject({ same: true, step: CALLS.length + 1, problems: [] });
  return { goald, server, played };
});

const memoriesOf = async (home: string) => {
  const rows = await readStore({ home }, (reader) => reader.memories("t", 0, 1_000));
  return rows.map(({ vector: _, embedder: __, ...row }) => row);
};
const recallsIn = (log: readonly RecordedEvent[]) =>
  log.flatMap((event) => (event.type === "model-asked" ? [[event.recallIds, event.shown]] : []));

describe("a recording of a run that changes its own memory", () => {
  it("has the changes that it is about (control)", async () => {
    const rows = await memoriesOf(run.goald.home);
    const past = rows.filter(({ closed }) => closed !== undefined).map(({ text }) => text);
    const replaced = rows.filter(({ supersededBy }) => supersededBy !== null).map(({ text }) => text);
    expect(past).toContain("depot: opening hour: six");
    expect(replaced.toSorted()).toEqual(["depot: guard: Anselm", "depot: opening hour: seven"]);
    const { log } = await lookInto(run.goald);
    const lists = recallsIn(log).map((recalls) => JSON.stringify(recalls));
    // The first ten requests show every step, and so recall none.
    expect(new Set(lists.slice(10)).size).toBeGreaterThan((lists.length - 10) / 2);
  });

  it("shows no row any more in the request right after the one that corrected or hid it", () => {
    const shows = run.server.chats.map(({ messages }) => {
      const recalls = messages.at(-1)?.content ?? "";
      return [/\] depot: opening hour: seven/, /\] depot: guard: Anselm/].map((row) => row.test(recalls));
    });
    const correctedAt = CALLS.length - WORK.length - 2;
    expect(shows.slice(correctedAt, correctedAt + 3)).toEqual([
      [true, true],
      [false, true],
      [false, false],
    ]);
    expect(shows.slice(correctedAt + 3).flat()).not.toContain(true);
  });

  it("replays to the same events with their recalls, and to the same rows, closed, replaced and hidden", async () => {
    const replayed = await lookInto({ home: run.played });
    expect(replayed).toEqual(await lookInto(run.goald));
    expect(replayed.problems).toEqual([]);
    expect(await memoriesOf(run.played)).toEqual(await memoriesOf(run.goald.home));
  });

  it("shows the same prompt of each step in both homes, which is the one that was sent", async () => {
    for (const [at, { messages }] of run.server.chats.entries())
      for (const home of [run.goald.home, run.played]) {
        const shown = jsonOf(await run.goald.ask(["show", "t", "--step", `${at + 1}`, "--json", "--home", home]));
        expect(shown).toMatchObject({ prompt: { exact: true, messages } });
      }
  });
});

const CELL = cellOf("x");

/** A host that notes what it is asked. */
function listeningHost(asked: unknown[]): CellBridge {
  const note = async <T>(what: unknown, answer: T): Promise<T> => {
    asked.push(what);
    return answer;
  };
  return {
    call: (name, args) => note(["call", name, args], { value: "called", changesFiles: false }),
    run: (task, returns, form) => note(["run", task, returns, form], { value: 7 }),
    listFiles: () => note(["list"], { files: [], isComplete: true }),
    readFile: (path) => note(["read", path], { value: new Uint8Array([1]) }),
    saveFiles: (changes) =>
      note(["save", changes.map(({ path, bytes }) => [path, bytes && Buffer.from(bytes).toString("latin1")])], {
        value: null,
      }),
  };
}

const asksForAll: CellBehaviour = async (_cell, host, { print }) => {
  print("one");
  await host.call("google", { input: `key ${SECRET}` });
  await host.run("count", { type: "number" }, "code");
  await host.listFiles();
  await host.readFile("a.txt");
  const picture = new Uint8Array([0x89, 0x50, 0xff, 0x00]);
  await host.saveFiles([
    { path: "a.txt", bytes: new TextEncoder().encode(`text ${SECRET}`) },
    { path: "a.png", bytes: picture },
    { path: "gone.txt", bytes: null },
  ]);
  return { value: cellValue(`end ${SECRET}`), lost: [{ name: "g", reason: "a generator cannot be kept" }] };
};

describe("a recorded cell", () => {
  async function record(behaviour: CellBehaviour) {
    const [lines, asked, shown]: [Line[], unknown[], string[]] = [[], [], []];
    const value = <T>(_name: string, compute: () => T): T => compute();
    const sandbox = recordSandbox(createFakeSandbox(behaviour), { redact, write: (line) => lines.push(line), value });
    const host = { ...listeningHost(asked), show: (line: string) => void shown.push(line) };
    return { outcome: await sandbox.run(CELL, host, signal), lines, asked, shown };
  }

  const play = (lines: readonly Line[]) =>
    playSandbox({ lines } as unknown as Session, fail, (_name, compute) => compute());

  it("is played with the same questions in the same order, and ends the same; what it prints is in the outcome alone", async () => {
    const { lines, asked, outcome, shown } = await record(asksForAll);
    expect([shown, lines.map(({ type }) => type)]).toEqual([["one"], [...Array(5).fill("cell-ask"), "cell-end"]]);
    const again: unknown[] = [];
    expect(await play(lines).run(CELL, listeningHost(again), signal)).toEqual(outcome);
    expect(again).toEqual(asked);
    expect(again.map((one) => (one as unknown[])[0])).toEqual(["call", "run", "list", "read", "save"]);
  });

  it("holds no secret: neither the recording, nor what the host was asked, nor the outcome", async () => {
    const { lines, asked, outcome } = await record(asksForAll);
    for (const kept of [lines, asked, outcome]) {
      expect(JSON.stringify(kept)).not.toContain(SECRET);
      expect(JSON.stringify(kept)).toContain("[secret]");
    }
  });

  it("is accepted when it is read again, also that of a cell that failed", async () => {
    const lines = [...(await record(asksForAll)).lines, ...(await record(() => fail("boo"))).lines];
    expect(lines.map((line) => findLineProblem(JSON.parse(JSON.stringify(line))))).toEqual(lines.map(() => undefined));
  });

  it("ends the replay where a cell asks for more than was recorded", async () => {
    const { lines } = await record(asksForAll);
    const cut = play(lines.slice(0, 2));
    await expect(cut.run(CELL, listeningHost([]), signal)).rejects.toThrow("the recording of it ends");
  });

  it.each<[what: string, line: object]>([
    ["a question that no code can ask", { type: "cell-ask", version: "c1#1", ask: { what: "everything" } }],
    ["a call without arguments", { type: "cell-ask", version: "c1#1", ask: { what: "call", name: "google" } }],
    ["a file without content", { type: "cell-ask", version: "c1#1", ask: { what: "save", changes: [{ path: "a" }] } }],
    ["a path that is no text", { type: "cell-ask", version: "c1#1", ask: { what: "read", path: 3 } }],
    ["an end of no kind", { type: "cell-end", version: "c1#1", outcome: { kind: "other" } }],
  ])("is refused for %s", (_what, line) => {
    expect(findLineProblem(line)).toContain(`is a line of type ${(line as { type: string }).type}`);
  });
});

describe("a recording from a stranger", () => {
  const recording = useShared(makeRecording);

  /** Writes the recording with one changed line of a type. */
  async function change(type: string, edit: (line: never) => object): Promise<string> {
    const lines = structuredClone(recording.lines) as Record<string, unknown>[];
    const index = lines.findIndex((line) => line.type === type);
    lines[index] = { ...lines[index], ...edit(lines[index] as never) };
    await writeFile(recording.at("changed.ndjson"), `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
    return "changed.ndjson";
  }

  async function expectRefused(name: string, code: string, reason: RegExp): Promise<void> {
    const ended = await recording.replay(name);
    const error = errorOf({ stderr: ended.stderr.trim().split("\n").at(-1) ?? "" });
    expect(error).toMatchObject({ code, message: expect.stringMatching(reason) });
    expect(await readdir(recording.at("tmp"))).toEqual([]);
  }

  it("is played when nothing was changed in it, and leaves no folder", async () => {
    expect(linesOf(endedWith(0, await recording.replay("good.ndjson"))).at(-1)).toMatchObject({ same: true });
    expect(await readdir(recording.at("tmp"))).toEqual([]);
  });

  it.each<[what: string, type: string, edit: object, reason: RegExp]>([
    ["an endless number of leases", "session", { epoch: 1e9 }, /Line 2 is a line of type session whose epoch must be/],
    ["a lease of no number", "session", { epoch: "9" }, /epoch must be integer/],
    ["a time that no date can hold", "commit", { clock: [1e300] }, /must be/],
    ["times that add up to one", "commit", { clock: Array(9).fill(8e15) }, /has a time out of range/],
    ["an id that is a path", "session", { agent: { id: "../../x", createdAt: "2026-01-01T00:00:00.000Z" } }, /./],
    ["an unknown line", "commit", { type: "__proto__" }, /has no type that goald knows/],
    ["a file without content", "session", { files: [{ path: "x" }] }, /files\/0 must/],
  ])("is refused for %s", async (_what, type, edit, reason) => {
    const ended = await recording.replay(await change(type, () => edit));
    expect(ended.code).toBeGreaterThan(0);
    expect(ended.stderr).toMatch(reason);
    expect(ended.stderr).not.toContain("GOALD_INTERNAL");
    expect(await readdir(recording.at("tmp"))).toEqual([]);
  });

  it.each([".git/hooks/pre-commit", "a/.GIT/config", "../x", "/etc/x", ".hg/hgrc"])("cannot write %s", async (path) => {
    const file = { path, sha256: "0", text: "x" };
    const name = await change("session", (line: { files: object[] }) => ({ files: [...line.files, file] }));
    await expectRefused(name, "GOALD_PATH_REFUSED", /./);
  });

  it("leaves no folder when its replay differs, but does in a home that is named", async () => {
    const name = await change("committed", () => ({ state: "0".repeat(64) }));
    endedWith(1, await recording.replay(name));
    expect(await readdir(recording.at("tmp"))).toEqual([]);
    const named = await recording.goald.ask(["replay", name, "--json", "--home", recording.at("played")]);
    expect(named.code).toBe(1);
    expect(await readdir(recording.at("played"))).toContain("workspace");
  });

  it("goes on after its last whole line, also when an editor left bytes in it that are not UTF-8", async () => {
    const bytes = Buffer.from('{"recording":1,"goald":"\xe9"}\n{"type":"ses', "latin1");
    await writeFile(recording.at("latin.ndjson"), bytes);
    expect(readSessions(recording.at("latin.ndjson")).bytes).toBe(bytes.indexOf("\n") + 1);
  });

  it("is not read when it is a device, a pipe, a folder or larger than 256 MB", async () => {
    execFileSync("mkfifo", [recording.at("pipe")]);
    await using large = await open(recording.at("large"), "w");
    await large.truncate(10e9);
    for (const name of ["/dev/zero", "pipe", "tmp", "large"])
      await expectRefused(name, "GOALD_FILE", /it is not a regular file|more than 268435456|is a directory/i);
    await writeFile(recording.at("deep"), `{"recording":1,"goald":"x"}\n${"[".repeat(1e6)}${"]".repeat(1e6)}\n`);
    await expectRefused("deep", "GOALD_REPLAY", /./);
  });

  it("that fails is reported once, and throws when nothing has happened or all of it is durable", async () => {
    const problems: string[] = [];
    const report = (_agent: string, problem: string) => problems.push(problem);
    const recordings = new Recordings({ folder: recording.at("tmp"), redact, report } as never);
    const row = { id: "t", createdAt: "", head: 1 } as never;
    const start = (name: string) => {
      recordings.create(recording.at(name));
      recordings.resume(recording.at(name), row);
      const recorder = recordings.recorderFor(row) as Recorder;
      const run = { row, created: {}, services: [], folder: { list: () => [] } };
      return { recorder, begin: async (settings: object) => recorder.begin({ ...run, settings } as never) };
    };
    const early = start("early.ndjson");
    const failure = await failureOf(early.begin({ unwritable: 1n }));
    expect([await failureOf(early.begin({})), problems.length]).toEqual([failure, 1]);

    const { recorder, begin } = start("late.ndjson");
    await begin({});
    // The file is closed, so the answer that was paid for cannot be written.
    recordings.release("t");
    const paid = recorder.ports.model(() => model(replied("paid")));
    expect(await paid.complete(request("a"), signal)).toEqual(replied("paid"));
    const { onCommitted } = recorder.through({ onCommitted: () => undefined } as never);
    expect(() => onCommitted([], {} as never)).toThrow("EBADF");
    expect(problems).toHaveLength(2);
  });
});

const SCRIPT = readDemoScript("config/demo/script.json");

describe("the demo's script", () => {
  it("has the whole run: replies, pages, files and cells", () => {
    expect(SCRIPT.name).toBe("Foo");
    expect(Object.keys(SCRIPT.files)).toContain("reviews/natural-gut.md");
    expect([SCRIPT.replies.length, Object.keys(SCRIPT.web).length]).toEqual([16, 3]);
    expect(SCRIPT.cells.at(-1)?.type).toBe("cell-end");
  });

  it("answers in pieces, and with the page of an address", async () => {
    const { model, http } = openEdges(SCRIPT);
    const pieces: string[] = [];
    const answer = await model.complete(request("go"), signal, (piece) => pieces.push(piece));
    expect(answer).toMatchObject({ kind: "replied", text: pieces.join(""), finishReason: "stop" });
    expect(pieces.length).toBeGreaterThan(5);
    const page = await http.public()("https://racket-notes.example/strings-for-topspin");
    expect([page.status, page.url]).toEqual([200, "https://racket-notes.example/strings-for-topspin"]);
    expect((await http.to("https://search.example")("https://search.example/search?q=x")).status).toBe(200);
    expect((await http.public()("https://elsewhere.example/")).status).toBe(404);
  });

  it("answers at a pace that a person can follow, where somebody reads along", async () => {
    const isCutOff = async (isPaced: boolean) => {
      const leaving = new AbortController();
      const answering = openEdges(SCRIPT, isPaced).model.complete(request("go"), leaving.signal, () => leaving.abort());
      return (await failureOf(answering)) !== "no error";
    };
    expect([await isCutOff(true), await isCutOff(false)]).toEqual([true, false]);
  });

  it("fails when a request does not show what its reply builds on, and when it ends", async () => {
    const replies = SCRIPT.replies.filter(({ shown }) => shown !== undefined).slice(0, 1);
    const { model } = openEdges({ ...SCRIPT, replies });
    for (const [asked, problem] of Object.entries({ nothing: "does not show", more: "ends before" })) {
      const message = expect.stringContaining(problem);
      expect(await model.complete(request(asked), signal)).toMatchObject({ kind: "failed", message });
    }
  });
});
