/**
 * Each test is named after the advisory against AutoGPT that it covers, with a real daemon and the real verbs.
 * Advisories about the local API alone are in test/api/server.test.ts and test/contracts/local-api.ts.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, lookInto } from "../helpers/goald.ts";
import { done, reply } from "../helpers/loop.ts";

const AGENT = ["--name", "T", "--role", "r", "--goal", "g"];
/** The verbs that show an agent. */
const LOOKS: readonly (readonly string[])[] = [
  ["ps", "-a"],
  ["show", "t"],
  ["show", "t", "--step", "1"],
  ["attach", "t", "--since", "1"],
  ["events", "t"],
  ["show", "t", "--files"],
  ["logs", "t"],
  ["logs", "--daemon"],
  ["show", "t", "--report"],
  ["why", "t", "a.txt"],
  ["diff", "t"],
  ["status"],
];

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

async function look({ goald }: DaemonHome, more: readonly string[] = []): Promise<readonly string[]> {
  const shown: string[] = [];
  for (const verb of LOOKS) {
    const { stdout, stderr } = endedWith(0, await goald.ask([...verb, ...more]));
    shown.push(stdout, stderr);
  }
  return shown;
}

/** Sends a request over the socket, as a page with access to it would. */
function ask(
  socketPath: string,
  { method = "POST", path = "/v1/agents", headers = {}, body = "" } = {},
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, method, path, headers: { host: "goald", ...headers } }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (more: string) => {
        text += more;
      });
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: text }));
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

describe("advisories against AutoGPT, tried on a real daemon", () => {
  it.concurrent("CVE-2026-22038: a key that the model repeats is in no file and in no output", async () => {
    const key = "sk-proj-Zq8Yw7Xv6Ut5Sr4Pq3On2Ml1Kj0";
    const replies = [
      reply("write_to_file", { file: "a.txt", text: `The key is ${key}.` }, `I know ${key}.`),
      done(`Kept ${key}.`),
    ];
    await using home = await makeDaemonHome([], {
      env: { OPENAI_API_KEY: key },
      reply: ({ messages }) =>
        (messages.some(({ content }) => content.includes("a.txt")) ? replies[1] : replies[0]) ?? "",
    });
    endedWith(0, await home.goald.ask(["run", "--wait", ...AGENT]));
    endedWith(0, await home.goald.ask(["say", "t", `Forget ${key}.`]));
    for (const text of [...(await look(home)), ...(await look(home, ["--json"]))]) expect(text).not.toContain(key);
    const files = await filesBelow(home.goald.home);
    expect(files.length).toBeGreaterThan(5);
    for (const file of files) expect([file, (await readFile(file)).includes(key)]).toEqual([file, false]);
    for (const { messages } of home.server.chats) expect(JSON.stringify(messages)).not.toContain(key);
    // The model did send the key, and the redactor's mark is in its place.
    expect(await home.goald.read("workspace/t/a.txt")).toBe("The key is [redacted].");
  });

  it.concurrent("CVE-2023-37275: no control character of a model reaches a terminal, a log or a report", async () => {
    const hostile =
      "\u001b[2J\u001b]0;pwn\u0007\u001b]8;;http://evil\u001b\\x\u001b]8;;\u001b\\\u009b31m\u202egpj\rSYSTEM:\b";
    const replies = [reply("write_to_file", { file: "a.txt", text: hostile }, hostile), done(hostile)];
    await using home = await makeDaemonHome([], {
      reply: ({ messages }) =>
        (messages.some(({ content }) => content.includes("a.txt")) ? replies[1] : replies[0]) ?? "",
    });
    endedWith(0, await home.goald.ask(["run", "--wait", ...AGENT]));
    const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
    const logs = ["goald.log", "daemon.out"].map((name) => join(".goald/log", name));
    const written = await Promise.all([...logs, "workspace/t/_goald/report.md"].map((path) => home.goald.read(path)));
    for (const text of [...(await look(home)), ...(await look(home, ["--json"])), ...written])
      expect(control.exec(text ?? "")).toBeNull();
    expect((await lookInto(home.goald)).problems).toEqual([]);
  });

  it.concurrent("CVE-2024-1879: a request that a web page can send creates no agent, and the socket is private to its owner", async () => {
    await using home = await makeDaemonHome([]);
    endedWith(0, await home.goald.ask(["up"]));
    const socket = join(home.goald.home, ".goald", "daemon.sock");
    const settings = { approve: "never", stepLimit: 1 };
    const body = JSON.stringify({ name: "Evil", role: "r", goals: ["g"], settings });
    const json = { "content-type": "application/json" };
    const answers = await Promise.all([
      ask(socket, { body, headers: { ...json, origin: "https://evil.example" } }),
      ask(socket, { body, headers: { "content-type": "text/plain" } }),
      ask(socket, { body, headers: { ...json, host: "evil.example" } }),
      ask(socket, { body, headers: { ...json, "sec-fetch-site": "cross-site" } }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([403, 415, 421, 403]);
    expect(JSON.parse((await home.goald.ask(["ps", "-a", "--json"])).stdout)).toEqual({ agents: [] });
    expect((await stat(socket)).mode & 0o777).toBe(0o600);
    expect((await stat(join(home.goald.home, ".goald"))).mode & 0o777).toBe(0o700);
    // The same body from the command line creates an agent, so the body was not the reason.
    expect((await ask(socket, { body, headers: json })).status).toBe(201);
  });

  it.concurrent("CVE-2026-33233: a name such as __proto__ in a body is rejected or has no effect", async () => {
    await using home = await makeDaemonHome([]);
    endedWith(0, await home.goald.ask(["up"]));
    const socket = join(home.goald.home, ".goald", "daemon.sock");
    const headers = { "content-type": "application/json" };
    const bodies = [
      '{"__proto__":{"role":"r"},"name":"Evil","goals":["g"],"settings":{"approve":"never","stepLimit":1}}',
      '{"name":"Evil","role":"r","goals":["g"],"settings":{"approve":"never","stepLimit":1,"__proto__":{"budgetUsd":9}}}',
      '{"constructor":{"prototype":{"x":1}},"name":"Evil","role":"r","goals":["g"],"settings":{"approve":"never","stepLimit":1}}',
    ];
    for (const body of bodies) expect((await ask(socket, { body, headers })).status).toBe(400);
    expect(JSON.parse((await home.goald.ask(["ps", "-a", "--json"])).stdout)).toEqual({ agents: [] });
    expect((await home.goald.ask(["status"])).code).toBe(0);
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
    const { stdout } = endedWith(0, await home.goald.ask(["events", "t", "--json"]));
    expect(stdout.match(/"code":"quota-exceeded"/g)).toHaveLength(3);
    expect(stdout).toContain("of 1 MB (quota.megabytes)");
    expect((await readdir(join(home.goald.home, "workspace/t"))).filter((name) => name.length === 1)).toEqual([
      "b",
      "c",
      "d",
      "h",
    ]);
  });

  it.concurrent("CVE-2025-53944: a call for one agent never affects another", async () => {
    await using home = await makeDaemonHome([], { reply: () => done() });
    for (const name of ["A", "B"])
      endedWith(0, await home.goald.ask(["run", "--wait", "--name", name, "--role", "r", "--goal", "g"]));
    const before = (await lookInto(home.goald, "b")).log;
    endedWith(0, await home.goald.ask(["say", "a", "Only you."]));
    endedWith(0, await home.goald.ask(["attach", "a", "--json"]));
    endedWith(0, await home.goald.ask(["rm", "a", "-f"]));
    expect((await lookInto(home.goald, "b")).log).toEqual(before);
    expect((await lookInto(home.goald, "b")).problems).toEqual([]);
    expect((await home.goald.ask(["show", "../b"])).code).toBe(3);
  });
});
