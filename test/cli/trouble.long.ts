import { readdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "@jest/globals";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
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
} from "../helpers/goald.ts";
import { append, ledger, ledgerText, numberedModel, replyWith } from "../helpers/models.ts";
import { type Answer, failure, startOpenAIServer } from "../helpers/openai-server.ts";

const KEY = "sk-planted-3Jd7wQ0nRx5";
const RUN = ["run", ...AGENT, "--continuous"];
const MEGABYTE = 1024 * 1024;

/** Makes a home whose model fails in a given way, and then recovers. */
async function troubled(first: (index: number) => Answer | undefined, env: Record<string, string> = {}) {
  const think = numberedModel(ledger(2));
  let isOver = false;
  const home = await makeDaemonHome([], {
    reply: (request, index) => (isOver ? undefined : first(index)) ?? think(request),
    env: { OPENAI_API_KEY: KEY, ...env },
  });
  const mend = (): void => {
    isOver = true;
  };
  return { ...home, mend };
}

const resultOf = (ended: Ended): Record<string, unknown> => linesOf(ended).at(-1) ?? {};

const expectSound = async (goald: Goald) => expect((await lookInto(goald)).problems).toEqual([]);

const PROSE = "Certainly! I would begin by looking around, and then see what there is to do. ".repeat(3);

const ROCKET = replyWith({ name: "launch_rocket", args: {} });

describe("a model that fails", () => {
  it.concurrent.each<[title: string, answer: Answer, code: number, outcome: string, reason: RegExp]>([
    ["always answers prose", PROSE, 10, "bad-replies", /^3 replies in a row could not be read as one command/],
    ["answers only blanks", "   ", 10, "bad-replies", /3 replies in a row/],
    ["requests unknown commands", ROCKET, 10, "bad-replies", /3 replies/],
    ["sends replies of 2 MB", "x".repeat(2 * MEGABYTE + 1), 10, "cap-ignored", /at most 4000 tokens .* sent at least/],
    ["sends a reply of 9 MB", "x".repeat(9 * MEGABYTE), 10, "cap-ignored", /at most 4000 tokens .* sent at least/],
    ["refuses the key", failure(401, `Incorrect: ${KEY}.`), 5, "key-refused", /refused the key: check OPENAI_API_KEY/],
    ["has no money left", failure(429, "Exceeded", "insufficient_quota"), 5, "key-refused", /no money or quota left/],
    [
      "is unknown",
      failure(404, "No.", "model_not_found"),
      10,
      "model-refused",
      /Set SMART_LLM, FAST_LLM or --model, .* offers: test-model/,
    ],
    ["breaks off in a reply", { fault: "cut" }, 10, "model-unreachable", /did not answer/],
    ["sends half with status 200", { text: "{}", finishReason: null }, 10, "model-unreachable", /did not answer/],
    ["never answers", { fault: "stall" }, 10, "model-unreachable", /did not answer/],
  ])(
    "and %s pauses the agent with the reason, and a resume continues when it recovers",
    async (title, answer, code, outcome, reason) => {
      const env: Record<string, string> = title === "never answers" ? { GOALD_MODELS_TIMEOUT_SECONDS: "1" } : {};
      await using home = await troubled(() => answer, env);
      const { goald, server } = home;
      const failed = endedWith(code, await goald.run([...RUN, "--json"]));
      const told = { type: "result", outcome, reason: expect.stringMatching(reason), exitCode: code };
      expect(resultOf(failed)).toMatchObject(told);
      expect(failed.stderr).not.toMatch(/^\s+at |node:internal/m);
      expect(failed.stdout.length).toBeLessThan(MEGABYTE);
      const asked = server.chats.length;
      home.mend();
      const resumed = endedWith(0, await goald.run("resume --json"));
      expect(resultOf(resumed)).toMatchObject({ outcome: "completed" });
      expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(2));
      expect(server.chats.length - asked).toBe(3);
      await expectSound(goald);
      // No message contained the key.
      const log = await goald.read(".goald/log/goald.log");
      const events = JSON.stringify((await lookInto(goald)).log);
      expect(failed.stdout + failed.stderr + resumed.stdout + events + log).not.toContain(KEY);
    },
  );

  it.concurrent("and breaks off may have used tokens, which goald show counts where they cost nothing", async () => {
    await using home = await troubled(() => ({ fault: "cut" }), { SMART_LLM: "test-model" });
    endedWith(10, await home.goald.run(RUN));
    const { stdout } = endedWith(0, await home.goald.run("show t"));
    expect(stdout).toMatch(/^Cost: .* out, perhaps [\d,]{5,} tokens more for calls without an end$/m);
  });

  it.concurrent("and limits its rate is waited for by the daemon; without one the agent is interrupted", async () => {
    const limited: Answer = { status: 429, body: { error: { message: "No." } }, headers: { "retry-after": "600" } };
    await using home = await troubled(() => limited);
    const { goald } = home;
    endedWith(0, await goald.run(["run", "-d", ...AGENT]));
    await home.logged("model-failed");
    expect(await goald.json("show t")).toMatchObject({ state: "waiting: rate limit" });
    endedWith(0, await goald.run("down"));
    expect(await goald.json("show t")).toMatchObject({ state: "interrupted", reason: null, until: null });
    expect(endedWith(0, await goald.run("show t")).stdout).toContain("Next:       Continue it: goald resume t\n");
  });

  it.concurrent("and repeats itself is paused with what to do, which goald show says once", async () => {
    await using home = await troubled(() => replyWith({ name: "read_file", args: { file: "a.md" } }));
    const failed = endedWith(10, await home.goald.run(RUN));
    expect(failed.stdout).toMatch(/Paused: read_file was asked for with the same arguments 5 times .*goald say t "…"/);
    const { stdout } = endedWith(0, await home.goald.run("show t"));
    expect(stdout).toMatch(
      /^State: {6}paused: loop \(read_file was .* 5 times in a row; the last one was not run\.\)$/m,
    );
    expect(stdout.match(/goald (?:say|goals|resume) t.*/g)).toEqual(['goald say t "…"', "goald resume t"]);
  });

  it.concurrent("and does not answer at all is reported with its address (exit 10)", async () => {
    await using server = await startOpenAIServer();
    const { baseUrl } = server;
    await server.close();
    await using goald = await makeGoald({ OPENAI_BASE_URL: baseUrl });
    const failed = endedWith(10, await goald.run([...RUN, "--json"]));
    expect(resultOf(failed)).toMatchObject({ outcome: "model-unreachable" });
    expect(failed.stdout).toContain(baseUrl);
    expect(failed.stdout).toMatch(/Is it running, and is OPENAI_BASE_URL right\?/);
  });
});

it.concurrent("a second goald in the same home runs its agent in the same daemon, but not the demo", async () => {
  await using home = await makeDaemonHome(ledger(2));
  const { goald, release } = home;
  home.holdFrom(1);
  const first = goald.start([...RUN, "--json"]);
  await first.see('"model-asked"');
  const second = goald.start([...RUN, "--json"]);
  await second.see('"model-asked"');
  expect(endedWith(0, await goald.run("demo")).stdout).toContain("is a script");
  // Verbs that only look need no lock.
  const calls = ["ps", "show t", "events t", "show t --files", "verify"];
  const looks = await Promise.all(calls.map((call) => goald.run(call)));
  for (const look of looks) endedWith(0, look);
  expect(looks[0]?.stdout).toContain("running");
  release();
  for (const run of [first, second]) endedWith(0, await run.ended);
  for (const id of ["t", "t-2"]) expect(await goald.read(`workspace/${id}/ledger.txt`)).toBe(ledgerText(2));
  expect((await goald.json<{ agents: unknown[] }>("ps")).agents).toHaveLength(2);
});

describe("a full disk", () => {
  /** Makes the kernel reject writes beyond this size, as a full disk does. */
  const limited = (kilobytes: number): string => `ulimit -f ${kilobytes * 2}; exec "$@"`;
  const calls = Array.from({ length: 12 }, (_, at) => append(`line ${at + 1} ${"x".repeat(8_000)}\n`));
  const whole = calls.map(({ args }) => args.text).join("");

  it.concurrent.each([[200], [300], [500], [1_000]])(
    "after %i KB stops the run with a message and loses nothing; with free space a resume finishes it",
    async (kilobytes) => {
      await using home = await makeDaemonHome(calls);
      const { goald } = home;
      const stopped = await goald.run([...RUN, "--json"], { shell: limited(kilobytes) });
      expect(stopped.stderr).not.toMatch(/^\s+at |node:internal|Suppressed/m);
      endedWith(1, stopped);
      const problem = stopped.stderr.trim().split("\n").at(-1) ?? "";
      expect(errorOf({ stderr: problem })).toMatchObject({
        code: "GOALD_STORE_FULL",
        hint: expect.stringContaining("resume"),
      });
      await expectSound(goald);
      // The next daemon has space.
      const daemon = daemonOf(goald);
      if (daemon.isHeld()) await daemon.kill();
      const { log } = await lookInto(goald);
      endedWith(0, await goald.run([...(log.length > 0 ? ["resume", "t"] : RUN), "--json"]));
      expect(await goald.read("workspace/t/ledger.txt")).toBe(whole);
      await expectSound(goald);
    },
  );

  it.concurrent("refuses a backup by the name of its file, and leaves nothing of it", async () => {
    await using home = await makeDaemonHome(calls.slice(0, 1));
    const { goald } = home;
    endedWith(0, await goald.run(RUN));
    const error = errorOf(endedWith(1, await goald.run("backup copy.db --json", { shell: limited(40) })));
    expect(error).toMatchObject({ code: "GOALD_STORE_FULL", message: expect.stringContaining("copy.db") });
    expect(error).toMatchObject({ hint: expect.not.stringContaining("agent") });
    expect((await readdir(goald.cwd)).filter((name) => name.startsWith("copy"))).toEqual([]);
  });

  it.concurrent("without any free space is reported before the first request", async () => {
    await using home = await makeDaemonHome(calls);
    const { goald, server } = home;
    const stopped = endedWith(1, await goald.run(RUN, { shell: limited(0) }));
    expect(stopped.stderr).toMatch(/^goald: /);
    expect(stopped.stderr).not.toMatch(/^\s+at |node:internal/m);
    expect(server.chats).toEqual([]);
  });
});

it.concurrent.each<[title: string, damage: (database: string) => Promise<void>]>([
  ["overwritten from its beginning", (database) => writeFile(database, "this is no database at all ".repeat(500))],
  ["cut in half", async (database) => truncate(database, (await stat(database)).size / 2)],
  [
    "scribbled over in the middle",
    async (database) => {
      const bytes = await readFile(database);
      await writeFile(database, bytes.fill(0x5a, 8_192));
    },
  ],
])("a damaged store is reported by every verb and left unchanged: %s", async (_title, damage) => {
  await using home = await makeDaemonHome(ledger(3));
  const { goald } = home;
  endedWith(0, await goald.run(RUN));
  endedWith(0, await goald.run("down"));
  const database = join(goald.home, ".goald", "goald.db");
  await damage(database);
  const before = await readFile(database);
  for (const args of [["ps"], RUN, ["resume", "t"]]) {
    const ended = endedWith(1, await goald.run([...args, "--json"]));
    expect(ended.stderr).not.toMatch(/^\s+at |node:internal/m);
    expect(errorOf({ stderr: ended.stderr.trim().split("\n").at(-1) ?? "" })).toMatchObject({
      code: "GOALD_STORE_DAMAGED",
      hint: expect.stringMatching(/backup|verify/),
    });
  }
  endedWith(1, await goald.run("verify"));
  // SQLite changes only its counter of openings in the file's header.
  expect(Buffer.compare((await readFile(database)).subarray(100), before.subarray(100))).toBe(0);
  expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(3));
});

describe("a reader that closes the pipe early", () => {
  const FIRST_LINE = '{ "$@"; echo "exit $?" >&2; } | { head -n 1';

  it.concurrent("ends every verb that looks, without an error", async () => {
    await using home = await makeDaemonHome(ledger(30));
    const { goald } = home;
    endedWith(0, await goald.run(RUN));
    for (const args of [["events", "t"], ["events", "t", "--json"], ["ps"]]) {
      const ended = await goald.run(args, { shell: `${FIRST_LINE}; }` });
      expect(ended.stderr).toBe("exit 0\n");
      expect(ended.stdout.split("\n")).toHaveLength(2);
    }
  });

  it.concurrent.each([[["--json"]], [[]]])("ends a run %j after its step, and a resume continues", async (json) => {
    await using home = await makeDaemonHome(ledger(30));
    const { goald, server } = home;
    home.holdFrom(1);
    // The model answers only after the reader has closed the pipe.
    const running = goald.start([...RUN, ...json], { shell: `${FIRST_LINE}; exec <&-; echo left >&2; }` });
    await running.see("left\n", "stderr");
    home.release();
    const ended = await running.ended;
    expect(ended.stderr).toContain("exit 0\n");
    expect(ended.stderr).not.toMatch(/^\s+at |EPIPE/m);
    // Its daemon goes on until the terminal has seen that a write fails.
    expect(server.chats.length).toBeLessThan(30);
    expect((await lookInto(goald)).log.at(-1)).toMatchObject({ type: "agent-paused", code: "person" });
    endedWith(0, await goald.run("resume t"));
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(30));
    // The request of the first step was not repeated.
    expect(server.chats).toHaveLength(31);
    await expectSound(goald);
  });
});

it("a changed log is never sent: its agent does not run, show names it, and the other agent ends", async () => {
  await using home = await makeDaemonHome(ledger(3));
  const { goald, server } = home;
  await using daemon = daemonOf(goald);
  home.holdFrom(1);
  endedWith(0, await goald.ask(["run", "-d", "--name", "Payer", "--goal", "Send 100 to Alice"]));
  endedWith(0, await goald.ask("run -d --name Other --goal g"));
  await home.asked(2);
  await daemon.kill();
  const database = new DatabaseSync(join(goald.home, ".goald", "goald.db"));
  database.exec("UPDATE event SET data = replace(data, 'Send 100', 'Send 900') WHERE seq = 1");
  database.close();
  const before = server.chats.length;
  home.release();

  // `ps` revives the daemon.
  endedWith(1, await goald.ask("ps"));
  await home.until(async () => (await goald.read("workspace/other/ledger.txt")) === ledgerText(3), "the other's end");
  await home.logged("turn-finished", 1, "other");
  const sent = server.chats.slice(before).map(({ messages }) => JSON.stringify(messages));
  expect(sent.filter((text) => text.includes("to Alice"))).toEqual([]);
  expect(sent.length).toBeGreaterThan(0);

  expect(endedWith(1, await goald.ask("show payer")).stderr).toContain("expected event 1 as written");
  const resumed = endedWith(1, await goald.ask("resume payer --json"));
  expect(errorOf({ stderr: resumed.stderr.trim().split("\n").at(-1) ?? "" })).toMatchObject({
    code: "GOALD_STORE_DAMAGED",
    message: expect.stringContaining("goald verify payer"),
  });
  expect(endedWith(1, await goald.ask("verify payer")).stdout).toContain("event 1 of payer");
  expect(await goald.json("verify other")).toMatchObject({ problems: [] });
  expect(server.chats.filter(({ messages }) => JSON.stringify(messages).includes("Send 900"))).toEqual([]);
});

it("one flipped bit in the WAL of a killed daemon stops every agent, until a person accepts the loss", async () => {
  await using home = await makeDaemonHome(ledger(3));
  const { goald, server } = home;
  await using daemon = daemonOf(goald);
  home.holdFrom(3);
  endedWith(0, await goald.ask(["run", "-d", ...AGENT]));
  await home.asked(3);
  await daemon.kill();
  const wal = join(goald.home, ".goald", "goald.db-wal");
  const bytes = await readFile(wal);
  const last = bytes.length - 4_000;
  bytes[last] = (bytes[last] ?? 0) ^ 4;
  await writeFile(wal, bytes);
  home.release();
  const before = server.chats.length;

  const missing = /has lost commits that goald had confirmed.*vents? \d+ .*of t (?:is|are) missing.*--accept-loss/;
  expect(endedWith(0, await goald.ask("ps")).stderr).toMatch(missing);
  expect(endedWith(1, await goald.ask("resume t")).stderr).toMatch(missing);
  expect(endedWith(1, await goald.ask("verify")).stdout).toMatch(/vents? \d+ .*of t (?:is|are) missing/);
  expect(server.chats.length).toBe(before);

  const accepted = endedWith(0, await goald.ask("verify --accept-loss"));
  expect(accepted.stdout).toMatch(/^Accepted: Events? \d+ .*of t /);
  endedWith(0, await goald.ask("up"));
  await home.logged("turn-finished");
});

it("goald backup copies the store while the daemon's agent works, and what it prints restores it", async () => {
  await using home = await makeDaemonHome(ledger(4));
  const { goald } = home;
  await using daemon = daemonOf(goald);
  home.holdFrom(3);
  endedWith(0, await goald.ask(["run", "-d", ...AGENT]));
  await home.asked(3);
  const file = join(goald.cwd, "copy.db");
  const stdout = await goald.print("backup copy.db");
  expect(stdout).toMatch(/^Wrote .*copy\.db: 1 agent, \d+ events, \d+ bytes, verified\.\n/);
  endedWith(7, await goald.ask("backup copy.db"));
  expect(await goald.json("backup copy.db --force")).toMatchObject({ file, agents: 1 });
  home.release();
  await home.logged("turn-finished");
  expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(4));

  const restore = /^Restore it: (.*)$/m.exec(stdout)?.[1] ?? "";
  const script = restore.replaceAll(/\bgoald (down|verify)\b/g, '"$@" $1');
  const verified = endedWith(0, await goald.run([], { shell: script }));
  expect(verified.stdout).toMatch(/1 agent, \d+ events: sound\.\n$/);
  expect((await lookInto(goald)).log.at(-1)?.type).toBe("model-asked");
  expect(daemon.isHeld()).toBe(false);
  // The restored agent continues.
  endedWith(0, await goald.ask("up"));
  await home.logged("turn-finished");
});
