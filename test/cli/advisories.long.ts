/**
 * Each test is named after the advisory against AutoGPT that it covers, with a real daemon and the real verbs.
 * Advisories about the local API alone are in test/api/server.test.ts and test/contracts/local-api.ts.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import {
  AGENT,
  endedWith,
  errorOf,
  type Goald,
  linesOf,
  lookInto,
  RUN,
  type Words,
  wordsOf,
} from "../helpers/goald.ts";
import { ask } from "../helpers/local-server.ts";
import { done, reply } from "../helpers/loop.ts";
import { highestTask, ledger, replyWith, write } from "../helpers/models.ts";
import type { ChatRequest, OpenAIServer } from "../helpers/openai-server.ts";
import { waitUntil } from "../helpers/waits.ts";

/** The verbs that show an agent. */
const LOOKS = `ps -a, show t, show t --step 1, attach t --since 1, events t, show t --files, logs t, logs --daemon,
  show t --report, why t a.txt, diff t, status`.split(/,\s+/);

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

/** What the verbs that look show, as text and as JSON. */
async function look({ goald }: DaemonHome): Promise<readonly string[]> {
  const shown: string[] = [];
  for (const call of [...LOOKS, ...LOOKS.map((one) => `${one} --json`)]) {
    const { stdout, stderr } = endedWith(0, await goald.ask(call));
    shown.push(stdout, stderr);
  }
  return shown;
}
/** Replies with the first until the prompt has its file. */
const inTurn =
  ([first = "", second = ""]: readonly string[]) =>
  ({ messages }: ChatRequest): string =>
    messages.some(({ content }) => content.includes("a.txt")) ? second : first;

describe("advisories against AutoGPT, tried on a real daemon", () => {
  it.concurrent("CVE-2026-22038: a key that the model repeats is in no file and in no output", async () => {
    const key = "sk-proj-Zq8Yw7Xv6Ut5Sr4Pq3On2Ml1Kj0";
    const replies = [
      reply("write_to_file", { file: "a.txt", text: `The key is ${key}.` }, `I know ${key}.`),
      done(`Kept ${key}.`),
    ];
    await using home = await makeDaemonHome([], { env: { OPENAI_API_KEY: key }, reply: inTurn(replies) });
    endedWith(0, await home.goald.ask(["run", "--wait", ...AGENT]));
    endedWith(0, await home.goald.ask(["say", "t", `Forget ${key}.`]));
    for (const text of await look(home)) expect(text).not.toContain(key);
    const files = await filesBelow(home.goald.home);
    expect(files.length).toBeGreaterThan(5);
    for (const file of files) expect([file, (await readFile(file)).includes(key)]).toEqual([file, false]);
    for (const { messages } of home.server.chats) expect(JSON.stringify(messages)).not.toContain(key);
    // The model did send the key, and the redactor's mark is in its place.
    expect(await home.goald.read("workspace/t/a.txt")).toBe("The key is [redacted].");
  });

  it.concurrent("CVE-2024-1879: a request that a web page can send creates no agent, and the socket is private to its owner", async () => {
    await using home = await makeDaemonHome([]);
    endedWith(0, await home.goald.ask("up"));
    const socket = join(home.goald.home, ".goald", "daemon.sock");
    const settings = { approve: "never", stepLimit: 1 };
    const body = JSON.stringify({ name: "Evil", role: "r", goals: ["g"], settings });
    const json = { "content-type": "application/json" };
    const answers = await Promise.all([
      ask(socket, "POST", "/v1/agents", { body, headers: { ...json, origin: "https://evil.example" } }),
      ask(socket, "POST", "/v1/agents", { body, headers: { "content-type": "text/plain" } }),
      ask(socket, "POST", "/v1/agents", { body, headers: { ...json, host: "evil.example" } }),
      ask(socket, "POST", "/v1/agents", { body, headers: { ...json, "sec-fetch-site": "cross-site" } }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([403, 415, 421, 403]);
    expect(await home.goald.json("ps -a")).toEqual({ agents: [] });
    expect((await stat(socket)).mode & 0o777).toBe(0o600);
    expect((await stat(join(home.goald.home, ".goald"))).mode & 0o777).toBe(0o700);
    // The same body from the command line creates an agent, so the body was not the reason.
    expect((await ask(socket, "POST", "/v1/agents", { body, headers: json })).status).toBe(201);
  });

  it.concurrent("CVE-2026-33233: a name such as __proto__ in a body is rejected or has no effect", async () => {
    await using home = await makeDaemonHome([]);
    endedWith(0, await home.goald.ask("up"));
    const socket = join(home.goald.home, ".goald", "daemon.sock");
    const headers = { "content-type": "application/json" };
    const bodies = [
      '{"__proto__":{"role":"r"},"name":"Evil","goals":["g"],"settings":{"approve":"never","stepLimit":1}}',
      '{"name":"Evil","role":"r","goals":["g"],"settings":{"approve":"never","stepLimit":1,"__proto__":{"budgetUsd":9}}}',
      '{"constructor":{"prototype":{"x":1}},"name":"Evil","role":"r","goals":["g"],"settings":{"approve":"never","stepLimit":1}}',
    ];
    for (const body of bodies) expect((await ask(socket, "POST", "/v1/agents", { body, headers })).status).toBe(400);
    expect(await home.goald.json("ps -a")).toEqual({ agents: [] });
    expect((await home.goald.ask("status")).code).toBe(0);
  });

  it.concurrent("CVE-2026-33232: an agent that writes without end stops at its quota, and goes on after it deletes", async () => {
    const files = ["a", "b", "c", "d", "e", "f", "g"];
    const replies = files.map((file) => reply("write_to_file", { file, text: "x".repeat(15_000) }));
    let asked = 0;
    replies.push(
      reply("delete_file", { file: "a" }),
      reply("write_to_file", { file: "h", text: "x".repeat(15_000) }),
      done(),
    );
    await using home = await makeDaemonHome([], {
      env: { GOALD_QUOTA_MEGABYTES: "1" },
      reply: () => replies[asked++] ?? done(),
    });
    // The folder has room for four more files.
    await home.goald.write("workspace/t/ballast", "x".repeat(2 ** 20 - 65_000));
    endedWith(0, await home.goald.ask(["run", "--wait", ...AGENT]));
    const stdout = await home.goald.print("events t --json");
    expect(stdout.match(/"code":"quota-exceeded"/g)).toHaveLength(3);
    expect(stdout).toContain("of 1 MB (quota.megabytes)");
    const left = (await readdir(join(home.goald.home, "workspace/t"))).filter((name) => name.length === 1);
    expect(left.join("")).toBe("bcdh");
  });

  it.concurrent("CVE-2025-53944: a call for one agent never affects another", async () => {
    await using home = await makeDaemonHome([], { reply: () => done() });
    for (const name of ["A", "B"])
      endedWith(0, await home.goald.ask(["run", "--wait", "--name", name, "--role", "r", "--goal", "g"]));
    const before = (await lookInto(home.goald, "b")).log;
    endedWith(0, await home.goald.ask(["say", "a", "Only you."]));
    endedWith(0, await home.goald.ask("attach a --json"));
    endedWith(0, await home.goald.ask("rm a -f"));
    expect((await lookInto(home.goald, "b")).log).toEqual(before);
    expect((await lookInto(home.goald, "b")).problems).toEqual([]);
    expect((await home.goald.ask("show ../b")).code).toBe(3);
  });
});

describe("CVE-2023-37275 and more: no control character of a model and no mark without width", () => {
  /** C0, DEL, C1, direction marks, marks without width, tags. Tab, newline, joiners and selectors are text. */
  const UNSEEN =
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/u;
  /** Those of them that act on a terminal. Files and prompts keep the others. */
  const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
  /** A terminal writes these itself: returns, and styles. */
  const OF_TERMINAL = /\r|\u001b\[[0-9;?]*[A-Za-z]/g;
  const HOSTILE =
    "\u001b[2J\u001b]0;pwn\u0007\u001bP q\u001b\\\u009b31m\u009d0;t\u009c\u007f\u202egpj\u2066x\u200b\u00ad\ufeff\u2060\u{e0041}\b\r end";

  let goald: Goald;
  let server: OpenAIServer;
  let shown: string;
  beforeAll(async () => {
    const reply = (request: ChatRequest): string => {
      const next = highestTask(request) + 1;
      const words = `Task ${next} of 3 ${HOSTILE}`;
      if (next === 1) return replyWith(write("a.txt", `${HOSTILE}\n`), words);
      if (next === 2) return replyWith({ name: "read_file", args: { file: "a.txt" } }, words);
      if (next === 3) return replyWith({ name: `odd${HOSTILE}`, args: { [HOSTILE]: HOSTILE } }, words);
      return replyWith({ name: "task_complete", args: { reason: words } }, words);
    };
    ({ goald, server } = await makeDaemonHome([], { reply }));
    const { stdout, stderr } = await goald.ask(["run", ...AGENT, "--continuous", "--record", "t.ndjson"]);
    shown = stdout + stderr;
    await goald.write("workspace/t/person.txt", HOSTILE);
  });

  const CALLS: readonly Words[] = [
    ..."ps -a, show t, show t --step 1, show t --step 2, show t --report, events t, logs, goals t, show t --files".split(
      ", ",
    ),
    ..."why t a.txt, diff t, diff t --stat, restore t --step 1 --dry-run, resume t, commands, config, status".split(
      ", ",
    ),
    ..."memory t list, memory t export, verify, doctor, replay t.ndjson".split(", "),
    ["memory", "t", "search", HOSTILE],
    ["memory", "t", "add", HOSTILE],
    // Wrong calls quote what they were given.
    ["show", `t${HOSTILE}`],
    ["why", "t", HOSTILE],
    ["config", HOSTILE, HOSTILE],
    ["replay", HOSTILE],
    [HOSTILE],
  ];

  it("is in the output of any verb, as text or as JSON", async () => {
    expect(shown).not.toMatch(UNSEEN);
    expect(shown).toContain("end");
    for (const args of CALLS)
      for (const more of [[], ["--json"]]) {
        const { stdout, stderr } = await goald.ask([...wordsOf(args), ...more]);
        const found = UNSEEN.exec(stdout + stderr);
        expect({ args, more, found }).toEqual({ args, more, found: null });
        expect(stdout + stderr).not.toBe("");
      }
    for (const file of [".goald/log/goald.log", ".goald/log/daemon.out", "workspace/t/_goald/report.md"])
      expect({ file, found: OBEYED.exec((await goald.read(file)) ?? "") }).toEqual({ file, found: null });
  });

  it("reaches the model again; a diff shows its code, and the JSON of events is complete", async () => {
    for (const { messages } of server.chats)
      for (const { content } of messages.slice(1)) expect(OBEYED.exec(content)).toBeNull();
    expect(await goald.print("diff t --from 0")).toContain("\\u{7f}\\u{202e}gpj\\u{2066}x\\u{200b}\\u{ad}");
    const requested = linesOf(await goald.ask("events t --json")).find(({ type }) => type === "command-requested");
    expect(requested).toMatchObject({ call: { args: { text: `${HOSTILE}\n` } } });
  });

  it("is lost from an exported memory: each line is JSON that holds the same text", async () => {
    const exported = endedWith(0, await goald.ask("memory t export"));
    const texts = linesOf(exported).map(({ text }) => String(text));
    expect(texts.some((text) => text.includes("\u009b31m"))).toBe(true);
    const file = join(goald.cwd, "t.jsonl");
    endedWith(0, await goald.ask(["memory", "t", "export", file]));
    expect(await readFile(file, "utf8")).toBe(exported.stdout);
    const imported = await goald.json(["memory", "t", "import", file]);
    expect(imported).toMatchObject({ added: 0, known: texts.length });
  });

  it.each(["memory t export", "events t", "show t --step 1", "why t a.txt"])(
    "reaches a terminal: goald %s",
    async (call) => {
      const { stdout } = await goald.openTerminal(call).ended;
      expect(UNSEEN.exec(stdout.replace(OF_TERMINAL, ""))).toBeNull();
      expect(stdout).toContain("end");
    },
  );
});

const NINE = [
  ...["write_to_file", "read_file", "append_to_file", "edit_file", "move_file", "delete_file", "search_files"],
  ...["do_nothing", "task_complete"],
];
/** The commands that the prompt lists. */
const listed = ({ messages: [system] }: ChatRequest): readonly string[] =>
  [...(system?.content ?? "").matchAll(/^\d+\. [^\n:]+: "(\w+)", args:/gm)].map(([, name = ""]) => name);
const grammarOf = (chat: ChatRequest | undefined): string => JSON.stringify(chat?.response_format ?? {});

const OWN = {
  "commands/bake.js": `export default { name: "bake", label: "Bake", summary: "Bakes.", effect: "pure",
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  run: async () => ({ status: "ok", text: "Baked.", source: "goald", artifacts: [] }) };`,
};

describe("goald run --commands", () => {
  it("offers these groups and names only: in the prompt, in the grammar, and when they run", async () => {
    const replies = [
      replyWith({ name: "google", args: { input: "bread" } }),
      replyWith(write("a.txt", "x")),
      replyWith({ name: "task_complete", args: { reason: "Done." } }),
    ];
    await using home = await makeDaemonHome([], { reply: replies, files: OWN });
    const { goald, server } = home;
    endedWith(0, await goald.ask([...RUN, "--commands", "loop, files"]));
    const [first] = server.chats;
    expect(listed(first as ChatRequest)).toEqual(NINE);
    expect(grammarOf(first)).toContain('"write_to_file"');
    expect(grammarOf(first)).not.toContain('"google"');
    const { log } = await lookInto(goald);
    expect(log[0]).toMatchObject({ commands: "files,loop" });
    const rejected = log.find(({ type }) => type === "reply-rejected");
    expect(rejected).toMatchObject({
      problems: [expect.stringMatching(/^You may not use google here\. Your commands are: write_to_file, /)],
    });
    expect(log.filter(({ type }) => type === "command-started")).toHaveLength(2);
    expect(server.violations).toEqual([]);
  });

  it("keeps the profile over a kill, takes another at resume, and offers own commands by name and group", async () => {
    const calls = Array(9).fill({ name: "bake", args: {} });
    await using home = await makeDaemonHome(calls, { env: { GOALD_AGENTS_COMMANDS: "bake" }, files: OWN });
    const { goald, server } = home;
    const shown = async (...flags: string[]): Promise<readonly string[]> => {
      const seen = server.chats.length;
      await goald.ask(["resume", "t", "--json", "--max-steps", "1", ...flags]);
      return listed(server.chats[seen] as ChatRequest);
    };
    await goald.ask([...RUN, "--continuous-limit", "1"]);
    expect(listed(server.chats[0] as ChatRequest)).toEqual(["bake", "task_complete"]);
    expect(await shown()).toEqual(["bake", "task_complete"]);
    expect(await shown("--commands", "own,read_file")).toEqual(["read_file", "bake", "task_complete"]);
    expect(await shown("--commands", "all")).toEqual(expect.arrayContaining(["google", "bake", "write_to_file"]));
  });
});

it("goald run --plan required needs its commands, and keeps an agent from its end until the plan is done", async () => {
  const replies = [
    replyWith({ name: "task_complete", args: { reason: "Done." } }),
    replyWith({ name: "add_task", args: { parent: "0", goal: "Bake", subtasks: [{ goal: "Knead" }] } }),
    ...["0.0.0", "0.0", "0"].map((id) => replyWith({ name: "modify_task", args: { id, state: "verified" } })),
    replyWith({ name: "task_complete", args: { reason: "Done." } }),
  ];
  await using home = await makeDaemonHome([], { reply: replies });
  const { goald, server } = home;
  const planned = [...RUN, "--plan", "required", "--commands", "files,plan", "--max-steps", "1"];
  expect((await goald.ask(planned)).code).toBe(6);
  const without = await goald.ask("resume t --json --commands files");
  expect([without.code, errorOf(without).message]).toEqual([2, expect.stringContaining("--commands files leaves")]);
  endedWith(0, await goald.ask("resume t --json --max-steps 9"));
  const { log } = await lookInto(goald);
  expect(log[0]).toMatchObject({ type: "agent-created", plan: "required" });
  const ends = log.filter(({ type }) => /^(?:command-denied|task-|turn-finished)/.test(type)).map(({ type }) => type);
  expect(ends).toEqual(["command-denied", "task-added", ...Array(3).fill("task-changed"), "turn-finished"]);
  expect(server.violations).toEqual([]);
});

/** Node's own port for debuggers. */
const DEBUGGER = "http://127.0.0.1:9229/json";
const isClosed = (): Promise<boolean> =>
  fetch(DEBUGGER).then(
    () => false,
    () => true,
  );
/** Whether a process catches SIGUSR1, the tenth signal. Elsewhere than on Linux this cannot be read. */
async function catchesSignal(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => undefined);
  if (status === undefined) return process.platform !== "linux";
  return (Number.parseInt(/^SigCgt:\s*\w*(\w{8})$/m.exec(status)?.[1] ?? "0", 16) & 0x200) !== 0;
}

describe("SIGUSR1", () => {
  it("opens no debugger in a run in front of a person, and none in the daemon", async () => {
    await using home = await makeDaemonHome(ledger(2));
    home.holdFrom(2);
    const running = home.goald.start(["run", ...AGENT, "--continuous"]);
    await home.asked(2);
    running.kill("SIGUSR1");
    expect(await isClosed()).toBe(true);
    process.kill((await home.hostPid()) ?? 0, "SIGUSR1");
    expect(await isClosed()).toBe(true);
    home.release();
    expect(endedWith(0, await running.ended).stderr).not.toContain("Debugger");
  });

  it("opens none that stays when it comes while Node starts, before goald listens", async () => {
    await using home = await makeDaemonHome([]);
    const { cwd, start } = home.goald;
    const looking = start("ps --watch", { shell: 'echo $$ >pid; exec "$@"' });
    const pid = async () => Number(await readFile(join(cwd, "pid"), "utf8").catch(() => "0"));
    // A signal before Node's own listener would end the process.
    while (!(await catchesSignal(await pid()))) await new Promise((resolve) => setImmediate(resolve));
    looking.kill("SIGUSR1");
    await looking.see("No agents");
    await waitUntil("a closed debugger", isClosed);
    looking.kill("SIGINT");
    await looking.ended;
  });
});
