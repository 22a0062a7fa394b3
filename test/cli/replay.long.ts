import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { readDemoScript } from "#cassette/demo-script.ts";
import type { CommandCall } from "#core/call.ts";
import type { RecordedEvent } from "#core/event.ts";
import { type DaemonHome, killAtCommit, killUnder, makeDaemonHome, NO_NETWORK } from "../helpers/daemon-home.ts";
import {
  AGENT,
  daemonOf,
  type Ended,
  endedWith,
  errorOf,
  type Goald,
  linesOf,
  lookInto,
  makeGoald,
  playRecording,
  RUN,
  type StartOptions,
} from "../helpers/goald.ts";
import { frozenFile } from "../helpers/golden.ts";
import { append, highestTask, ledger, ledgerText, numberedModel, replyWith } from "../helpers/models.ts";
import { chunk, failure, type OpenAIServer, SSE } from "../helpers/openai-server.ts";
import { makeSeedHome } from "../helpers/seed-home.ts";
import { FORMS, findWorkshop, JOB_FILES, jobLines, jobSteps, startWorkshop } from "../seeds/jobs.ts";

const KEY = "sk-planted-8Hq2vX5tLm9";
const ORGANIZATION = "org-planted-77Rt2";
const DEMO_SCRIPT = "config/demo/script.json";
const COOKIE = "cookie-planted-41Kz9";
const FOREIGN = "ghp_plantedPLANTED1234567890abcd";

/** A replay prints a note before its error. */
const lastErrorOf = ({ stderr }: Ended) => errorOf({ stderr: stderr.trim().split("\n").at(-1) ?? "" });
/** The last line of a replay holds its result. */
const resultOf = (ended: { readonly stdout: string }): Record<string, unknown> => linesOf(ended).at(-1) ?? {};
const recorded = (goald: Goald, name = "t.ndjson"): string => join(goald.cwd, name);
const linesIn = async (file: string) => linesOf({ stdout: await readFile(file, "utf8") });
/** Plays a recording of the home's folder without a network. */
const playOffline = async (goald: Goald, file = "t.ndjson", options: StartOptions = {}): Promise<Ended> =>
  endedWith(0, await goald.run(["replay", file, "--json"], { ...NO_NETWORK, ...options }));
const eventsIn = (ended: { readonly stdout: string }): readonly Record<string, unknown>[] =>
  linesOf(ended).slice(0, -1);

it.concurrent("a recorded run recalls nothing of the shared memory, which its replay does not have", async () => {
  await using home = await makeDaemonHome(ledger(2));
  const { goald, server } = home;
  const shown = (from = 0): boolean => JSON.stringify(server.requests.slice(from)).includes("metric");
  endedWith(0, await goald.ask(["memory", "shared", "add", "Task 1 of a ledger is metric"]));
  endedWith(0, await goald.run([...RUN, "--record", "t.ndjson"]));
  expect(shown()).toBe(false);
  expect(resultOf(await playOffline(goald))).toMatchObject({ same: true });
  const { length } = server.requests;
  endedWith(0, await goald.run(RUN));
  expect(shown(length)).toBe(true);
});

describe("a recorded run with secrets in many places", () => {
  let goald: Goald;
  let server: OpenAIServer;
  let log: readonly RecordedEvent[];
  let shown: readonly Record<string, unknown>[];
  beforeAll(async () => {
    ({ goald, server } = await makeDaemonHome([], {
      apiKey: KEY,
      embeddings: () => undefined,
      env: { OPENAI_API_KEY: KEY, GOALD_MEMORY_EMBEDDER: undefined },
      reply: (request) => {
        const next = highestTask(request) + 1;
        // The model repeats the key, and another key that goald does not know.
        const call = next <= 3 ? append(`line ${next}: ${KEY} ${FOREIGN}\n`) : undefined;
        const text = replyWith(call ?? { name: "task_complete", args: { reason: "done" } }, `Task ${next} of 3`);
        return {
          status: 200,
          headers: { ...SSE, "set-cookie": `s=${COOKIE}`, "openai-organization": ORGANIZATION },
          body: `${chunk({ content: text }, "stop")}data: [DONE]\n\n`,
        };
      },
    }));
    const ended = endedWith(0, await goald.run([...RUN, "--record", "t.ndjson"]));
    shown = eventsIn(ended);
    ({ log } = await lookInto(goald));
    await server.close();
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
    const ended = await playOffline(goald);
    expect(ended.stderr).toContain("in a home of its own: ");
    expect(ended.stderr).not.toContain("A socket was opened.");
    const events = { same: log.length - 1, all: log.length - 1 };
    const result = resultOf(ended);
    expect(result).toMatchObject({ type: "replay", same: true, step: 4, files: 1, problems: [], events });
    expect(result.state).toBe(result.expected);
    expect(eventsIn(ended)).toEqual(shown);
  });

  it("would fail on a socket: the same trap ends a run that opens one (control)", async () => {
    const running = goald.start([...RUN, "--max-steps", "1"], NO_NETWORK);
    await running.see("A socket was opened.", "stderr");
    running.kill("SIGKILL");
    await running.ended;
  });

  it("reports an answer without a request", async () => {
    const lines = await linesIn(recorded(goald));
    const left = { ...lines.find(({ type }) => type === "answer"), step: 9 };
    const changed = lines.toSpliced(-1, 0, left).map((line) => `${JSON.stringify(line)}\n`);
    await writeFile(recorded(goald, "changed.ndjson"), changed.join(""));
    const replaying = goald.run("replay changed.ndjson --json", { ...NO_NETWORK, env: { TMPDIR: goald.cwd } });
    expect(lastErrorOf(endedWith(1, await replaying))).toMatchObject({
      code: "GOALD_REPLAY",
      message: expect.stringMatching(/^Step 4 is not .* holds a request that was not made: step 9, to the \w+\.$/),
    });
  });

  it("reports the difference when the home has another prompt template", async () => {
    await using other = await makeGoald();
    await other.write("prompts/system.md", "## evaluation\nBe quick.\n");
    const options = { ...NO_NETWORK, env: { TMPDIR: other.cwd } };
    const ended = endedWith(1, await other.run(["replay", recorded(goald)], options));
    expect(ended.stderr).toMatch(
      /Step 1 is not as it was recorded: request \d differs: it\.messages\[0\]\.content differs from character \d+ on: it was "[\s\S]+", and is "[\s\S]*Be quick\./,
    );
    expect(ended.stderr).toContain("The commands or words are not those of the recording.");
  });
});

describe("a recorded run that was killed and resumed", () => {
  const STEPS = 4;

  it.each(["9:after", "12:before"])("is one recording and one replay after a kill at commit %s", async (point) => {
    await using home = await makeDaemonHome(ledger(STEPS));
    const { goald } = home;
    const killed = await killUnder(killAtCommit(point), goald, [...RUN, "--record", "t.ndjson"]);
    expect(killed.signal).toBe("SIGKILL");
    endedWith(0, await goald.run("resume t --json --record t.ndjson"));
    const { log } = await lookInto(goald);
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(STEPS));
    const played = join(goald.cwd, "played");
    const ended = await goald.run(["replay", "t.ndjson", "--json", "--home", played], NO_NETWORK);
    expect(resultOf(endedWith(0, ended))).toMatchObject({ same: true, sessions: 2, files: 1 });
    expect((await lookInto({ home: played })).log).toEqual(log);
  });

  it("is rejected if a part of it was not recorded", async () => {
    await using home = await makeDaemonHome(ledger(3));
    const { goald } = home;
    endedWith(6, await goald.run(["run", "--wait", ...AGENT, "--max-steps", "1", "--record", "t.ndjson"]));
    // The daemon would go on with the recording.
    endedWith(0, await goald.ask("down"));
    await rm(join(goald.home, ".goald", "recordings"), { recursive: true });
    endedWith(6, await goald.run("resume t --max-steps 1 --json"));
    const ended = endedWith(2, await goald.run("resume t --record t.ndjson"));
    expect(ended.stderr).toContain("it went on without being recorded");
    const other = (await readFile(recorded(goald), "utf8")).replace('"id":"t"', '"id":"u"');
    await writeFile(recorded(goald, "other.ndjson"), other);
    const refused = endedWith(2, await goald.run("resume t --record other.ndjson"));
    expect(refused.stderr).toContain("other.ndjson is a recording of u, made at ");
    // The recorded part can still be replayed.
    expect(await playRecording(goald, "t.ndjson")).toMatchObject({ same: true, step: 1 });
  });
});

it("a run with failures replays rejections, limits, broken replies, and memories of an earlier run", async () => {
  const think = numberedModel(ledger(2));
  let count = 0;
  await using home = await makeDaemonHome([], {
    reply: (request) => {
      // The rejected field is not sent again.
      if ("response_format" in request) return failure(400, "response_format json_schema is not supported");
      count++;
      if (count === 1) return failure(500, "overloaded");
      return count === 2 ? { fault: "cut" } : think(request);
    },
  });
  const { goald } = home;
  for (const name of ["first", "second"]) {
    count = 0;
    endedWith(0, await goald.run([...RUN, "--record", `${name}.ndjson`]));
    const ended = await playOffline(goald, `${name}.ndjson`);
    expect(resultOf(ended)).toMatchObject({ same: true, step: 3, files: 1 });
    expect(ended.stdout.match(/"model-failed"/g)?.length).toBeGreaterThanOrEqual(2);
  }
});

const DICE = `import { randomInt } from "node:crypto";
import { appendFileSync } from "node:fs";
export default {
name: "dice", summary: "throws dice.",
async run(_args, { workspace }) {
  appendFileSync(process.env.THROWS, "x");
  const thrown = randomInt(2 ** 40);
  await workspace.write("thrown.txt", String(thrown));
  return { status: "ok", text: "It shows " + thrown + ".", source: "web", artifacts: ["thrown.txt"] };
},
};`;

it("a command of the home that reaches outside does not run in the replay, which takes what it did from the recording", async () => {
  const calls = [
    { name: "dice", args: {} },
    { name: "read_file", args: { file: "thrown.txt" } },
  ];
  await using home = await makeDaemonHome(calls);
  const { goald } = home;
  const throws = join(goald.cwd, "throws");
  await goald.write("commands/dice.ts", DICE);
  endedWith(0, await goald.run([...RUN, "--record", "t.ndjson"], { env: { THROWS: throws } }));
  const ended = await playOffline(goald, "t.ndjson", { env: { THROWS: throws } });
  expect(resultOf(ended)).toMatchObject({ same: true, files: 1 });
  expect(ended.stdout).toContain(`It shows ${await goald.read("workspace/t/thrown.txt")}.`);
  expect(await readFile(throws, "utf8")).toBe("x");
});

/** `GOLDEN=write npm run test:long -- test/cli/replay -t demo` runs the demo's code in the sandbox, and records its cells anew. */
it("a recorded demo replays without a network, with its searches, pages and cells, to the same state", async () => {
  await using goald = await makeGoald();
  const script = readDemoScript(DEMO_SCRIPT);
  const keepCells = (cells: readonly unknown[]): Promise<string> =>
    frozenFile(DEMO_SCRIPT, `${JSON.stringify({ ...script, cells }, null, 2)}\n`);
  // Without recorded cells the demo runs the code.
  await keepCells([]);
  const demo = endedWith(0, await goald.run("demo --record demo.ndjson"));
  const [, state = ""] = /^State: ([0-9a-f]{64})$/m.exec(demo.stdout) ?? [];
  const lines = await linesIn(recorded(goald, "demo.ndjson"));
  const cells = lines.filter(({ type }) => type === "cell-ask" || type === "cell-end");
  expect(cells).toEqual(JSON.parse(await keepCells(cells)).cells);
  expect(lines.filter(({ type }) => type === "answer")).toHaveLength(14);
  expect(resultOf(await playOffline(goald, "demo.ndjson"))).toMatchObject({ state });
});

/** Starts a recorded agent `t` in the background that waits for an approval. */
async function waiting(calls: readonly CommandCall[]): Promise<DaemonHome> {
  const home = await makeDaemonHome(calls);
  endedWith(0, await home.goald.ask(["run", "-d", ...AGENT, "--approve", "always", "--record", "t.ndjson"]));
  await home.logged("approval-asked");
  return home;
}

describe("a recorded agent of a daemon", () => {
  it.concurrent("replays to the same state: the recording has the person's words, approvals and file", async () => {
    await using home = await waiting([{ name: "read_file", args: { file: "own.txt" } }, ...ledger(2)]);
    const { goald } = home;
    await goald.write("workspace/t/own.txt", "mine alone\n");
    endedWith(0, await goald.ask("approve t"));
    await home.logged("approval-asked", 2);
    endedWith(0, await goald.ask(["say", "t", "Mind ghp_plantedPLANTED1234567890abcdefghijk"]));
    endedWith(0, await goald.ask(["deny", "t", "Write shorter lines"]));
    await home.logged("approval-asked", 3);
    endedWith(0, await goald.ask("approve t -N 99"));
    await home.logged("turn-finished");
    await home.until(async () => (await linesIn(recorded(goald))).some(({ type }) => type === "end"), "the end");
    expect(await playRecording(goald, "t.ndjson")).toMatchObject({ same: true, sessions: 1, problems: [] });
    const text = await readFile(recorded(goald), "utf8");
    expect(text).not.toContain("ghp_planted");
    for (const words of ["Write shorter lines", "mine alone"]) expect(text).toContain(words);
    // Control: the replay with another answer of the model ends in another state.
    await writeFile(recorded(goald), text.replaceAll("line 1", "line one"));
    const ended = endedWith(1, await goald.ask(["replay", "t.ndjson", "--json"], { env: { TMPDIR: goald.cwd } }));
    expect(lastErrorOf(ended).code).toBe("GOALD_REPLAY");
  });

  it.concurrent("is recorded through a kill and a restart of the daemon, a pause, a kill in the middle of a call, and a resume", async () => {
    await using home = await waiting(ledger(3));
    const { goald } = home;
    await using daemon = daemonOf(goald);
    await daemon.kill();
    endedWith(0, await goald.ask("up"));
    endedWith(0, await goald.ask("approve t"));
    await home.logged("approval-asked", 2);
    endedWith(0, await goald.ask("down"));
    endedWith(0, await goald.ask("up"));
    endedWith(0, await goald.ask("pause t"));
    home.holdFrom(3);
    endedWith(0, await goald.ask("resume t -d --approve never"));
    await home.asked(3);
    endedWith(0, await goald.ask("stop t --now"));
    home.release();
    endedWith(0, await goald.ask("resume t --json"));
    expect(await readFile(recorded(goald), "utf8")).toContain('"pause":{"code":"killed"');
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(3));
    const { log } = await lookInto(goald);
    const played = join(goald.cwd, "played");
    endedWith(0, await goald.ask(["replay", "t.ndjson", "--json", "--home", played]));
    expect((await lookInto({ home: played })).log).toEqual(log);
    const sessions = (await linesIn(recorded(goald))).filter(({ type }) => type === "session");
    expect(sessions.length).toBeGreaterThanOrEqual(3);
  });

  it.concurrent("continues without a recording if writing it fails, and reports so", async () => {
    await using home = await waiting(ledger(2));
    const { goald } = home;
    await using daemon = daemonOf(goald);
    await daemon.kill();
    await writeFile(recorded(goald), "this is no recording\n");
    endedWith(0, await goald.ask("up"));
    endedWith(0, await goald.ask("approve t -N 9"));
    await home.logged("turn-finished");
    expect(await goald.read(".goald/log/goald.log")).toContain(`Its recording in ${recorded(goald)} has ended: `);
    expect(await readFile(recorded(goald), "utf8")).toBe("this is no recording\n");
  });
});

it.each(FORMS)(
  "a recorded job of searches, pages, files and a checked address replays offline in the form %s",
  async (form) => {
    await using site = await startWorkshop();
    await using home = await makeSeedHome(jobLines(form, jobSteps(form, site.origin)), {
      env: { GOALD_WEB_ALLOW: site.origin },
      find: findWorkshop(site.origin),
    });
    const check = ["--check", `url ${site.origin}/lamps/alder`];
    await home.run(form, { flags: ["--record", "t.ndjson", ...check] });
    const log = await home.log();
    const checked = log.flatMap((event) => (event.type === "goals-checked" ? event.results : []));
    expect(checked.at(-1)?.isPassed).toBe(true);
    // What a page answers to a question is an answer of a model inside a command that is played whole.
    const asked = site.requests.length;
    await site[Symbol.asyncDispose]();
    await home.server.close();

    const played = join(home.goald.cwd, "played");
    const ended = await home.goald.run(["replay", "t.ndjson", "--json", "--home", played], NO_NETWORK);
    expect(linesOf(endedWith(0, ended)).at(-1)).toMatchObject({
      same: true,
      problems: [],
      events: { same: log.length - 1, all: log.length - 1 },
    });
    expect(ended.stderr).not.toContain("A socket was opened.");
    expect(site.requests).toHaveLength(asked);
    for (const [name, text] of Object.entries(JOB_FILES))
      expect(await readFile(join(played, "workspace", "t", name), "utf8")).toBe(text);
  },
);
