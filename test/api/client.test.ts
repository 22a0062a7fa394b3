import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { connectHost } from "#api/client.ts";
import { PROTOCOL_VERSION } from "#api/control.ts";
import { expectDaemon, isDaemonExpected, isDaemonMissing, stopExpectingDaemon } from "#api/daemon-files.ts";
import { askDaemon, ensureDaemon, findHost, revive } from "#api/find-daemon.ts";
import { callHost } from "#api/socket.ts";
import { fakeHost, STARTED_AT, says, sendJson, startUnixServer } from "./unix-server.ts";

describe("a call to the host", () => {
  it("sends its request as JSON to the Host goald on a connection of its own, which it closes", async () => {
    await using server = await startUnixServer(says(200, { agent: {}, note: "" }));
    const client = connectHost(server.socket);
    await client.say("a b/ü", { from: "me", text: "héllo", key: "k" });
    await client.setGoals("a", ["g"]);
    await client.editPlan("a", { edits: [{ kind: "set", id: "0", state: "open" }], key: "k" });
    await client.beginTurn("a", { goals: ["g"] });
    await client.changeSettings("a", { approve: "never" });
    await client.pause("a", "r");
    await client.resume("a", { budgetUsd: 1 });
    await client.stop("a", 5_000);
    await client.kill("a");
    await client.answer("a", { verdict: "denied", text: "no" });
    await client.remove("a", { force: true, files: false });
    await client.page("a", 3, 10);
    await client.shutdown(1_000);
    expect(server.requests.map(({ method, path, body }) => `${method} ${path} ${body}`)).toEqual([
      'POST /v1/agents/a%20b%2F%C3%BC/messages {"from":"me","text":"héllo","key":"k"}',
      'PUT /v1/agents/a/goals {"goals":["g"]}',
      'POST /v1/agents/a/plan {"edits":[{"kind":"set","id":"0","state":"open"}],"key":"k"}',
      'POST /v1/agents/a/turns {"goals":["g"]}',
      'PATCH /v1/agents/a/settings {"approve":"never"}',
      'POST /v1/agents/a/pause {"reason":"r"}',
      'POST /v1/agents/a/resume {"settings":{"budgetUsd":1}}',
      'POST /v1/agents/a/stop {"graceMs":5000}',
      "POST /v1/agents/a/kill {}",
      'POST /v1/agents/a/approval {"verdict":"denied","text":"no"}',
      "DELETE /v1/agents/a?force=true&files=false ",
      "GET /v1/agents/a/events?after=3&limit=10 ",
      'POST /v1/shutdown {"graceMs":1000}',
    ]);
    for (const { headers, body } of server.requests) {
      expect(headers).toMatchObject({ host: "goald", accept: "application/json", connection: "close" });
      expect(headers["content-type"]).toBe(body === "" ? undefined : "application/json");
    }
    // An open handle would keep the process from its end.
    while (server.connections > 0) await new Promise(setImmediate);
  });

  it("decodes lists", async () => {
    await using server = await startUnixServer(({ path }, response) =>
      sendJson(response, 200, path === "/v1/reload" ? { changes: ["c"] } : { agents: [{ id: "a" }] }),
    );
    expect(await connectHost(server.socket).agents()).toEqual([{ id: "a" }]);
    expect(await connectHost(server.socket).reload()).toEqual(["c"]);
  });

  const internal = { code: "GOALD_INTERNAL", hint: "", exitCode: 1 };
  it.each([
    [404, "GOALD_NOT_FOUND", "goald ps", { code: "GOALD_NOT_FOUND", hint: "goald ps", exitCode: 3 }],
    ...["GOALD_OF_TOMORROW", "constructor", 7, undefined].map((code) => [500, code, 1, internal] as const),
  ])("throws the error of an answer %i with its message, and an unknown code as internal: %j", async (...row) => {
    const [status, code, hint, expected] = row;
    await using server = await startUnixServer(says(status, { error: { code, message: "There is none.", hint } }));
    const client = connectHost(server.socket);
    for (const call of [() => client.agent("x"), () => client.status()])
      await expect(call()).rejects.toMatchObject({ name: "GoaldError", message: "There is none.", ...expected });
  });

  it("reports that no host listens if the socket is missing or its host is dead", async () => {
    const server = await startUnixServer(() => undefined);
    const { socket } = server;
    await server.stop();
    const notRunning = { code: "GOALD_DAEMON", exitCode: 4, hint: "Start it: goald up" };
    await expect(connectHost(socket).status()).rejects.toMatchObject(notRunning);
    await rm(server.folder, { recursive: true });
    await expect(connectHost(socket).status()).rejects.toMatchObject(notRunning);
  });

  it("times out while it waits for an answer or for the rest of one", async () => {
    await using silent = await startUnixServer(() => undefined);
    const ask = (socket: string): Promise<unknown> => callHost(socket, { method: "GET", path: "/", answerMs: 50 });
    const tooLate = { code: "GOALD_DAEMON", message: expect.stringContaining("did not answer within 0.05 s") };
    await expect(ask(silent.socket)).rejects.toMatchObject(tooLate);
    await using slow = await startUnixServer((_request, response) => {
      response.writeHead(200);
      response.write('{"half":');
    });
    await expect(ask(slow.socket)).rejects.toMatchObject(tooLate);
  });

  it("allows a stop as much time as the steps have, plus some to close", async () => {
    await using server = await startUnixServer((_request, response) => {
      setTimeout(() => sendJson(response, 200, { note: "stands" }), 200);
    });
    const { socket } = server;
    await expect(callHost(socket, { method: "GET", path: "/", answerMs: 100 })).rejects.toThrow("did not answer");
    expect(await connectHost(socket).stop("a", 0)).toEqual({ note: "stands" });
  });

  const foreign = "not a daemon that this goald understands";
  it.each<[string, number | null, string, words: string]>([
    ["text that is not JSON", 200, "<html>", foreign],
    ["an error that goald did not send", 502, "Bad Gateway", foreign],
    ["JSON that is not an error of goald", 400, '{"error":"no"}', foreign],
    ["the end of a host that dies before it answers", null, "", "connection to the daemon was lost"],
  ])("rejects %s as an answer", async (_what, status, text, words) => {
    await using server = await startUnixServer((_request, response) =>
      status === null ? response.destroy() : response.writeHead(status).end(text),
    );
    const error = { code: "GOALD_DAEMON", message: expect.stringContaining(words) };
    await expect(connectHost(server.socket).status()).rejects.toMatchObject(error);
  });

  it("reads at most 64 MB of an answer", async () => {
    const piece = Buffer.alloc(1024 * 1024, 0x20);
    await using server = await startUnixServer((_request, response) => {
      response.writeHead(200);
      const send = (): void => {
        while (!response.destroyed && response.write(piece));
        response.once("drain", send);
      };
      send();
    });
    await expect(connectHost(server.socket).status()).rejects.toMatchObject({ code: "GOALD_HTTP_TOO_LARGE" });
  });
});

describe("finding the host of a home", () => {
  it("finds none in an empty home, the host that answers at the socket that it names, and none after it died", async () => {
    await using host = await fakeHost();
    const { socket } = host.server;
    expect(await askDaemon(host.home)).toEqual({ kind: "nobody" });
    expect(await findHost(host.home)).toBeUndefined();
    const lock = host.hold({ socket });
    expect(await askDaemon(host.home)).toMatchObject({ kind: "host", client: { socket }, status: { pid: 4711 } });
    expect((await findHost(host.home))?.socket).toBe(socket);
    await host.server.stop();
    lock.release();
    expect(await askDaemon(host.home)).toEqual({ kind: "nobody" });
  });

  it("takes a host without its lock file only as the host of the home that it names, as in a copy of a home", async () => {
    await using host = await fakeHost();
    const told = { pid: process.pid, version: "1.2.3", startedAt: STARTED_AT, socket: host.server.socket };
    await writeFile(join(host.home.privateFolder, "daemon.json"), JSON.stringify(told));
    expect(await askDaemon(host.home)).toEqual({ kind: "nobody" });
    expect(await findHost(host.home)).toBeUndefined();
    host.tell({ home: host.home.root });
    expect(await askDaemon(host.home)).toMatchObject({ kind: "host", status: { pid: 4711 } });
    host.tell({ home: join(host.home.root, "another") });
    expect(await askDaemon(host.home)).toEqual({ kind: "nobody" });
  });

  it("waits for a host that has the lock but does not listen yet, until it listens or exits", async () => {
    await using host = await fakeHost();
    await host.server.stop();
    const lock = host.hold({ socket: host.server.socket });
    setTimeout(() => host.server.start(), 300);
    expect(await askDaemon(host.home)).toMatchObject({ kind: "host" });
    await host.server.stop();
    setTimeout(() => lock.release(), 200);
    expect(await askDaemon(host.home)).toEqual({ kind: "nobody" });
  });

  it("reports a daemon that takes calls without an answer, and how to end it; not one that does not listen", async () => {
    await using host = await fakeHost();
    const silences: unknown[] = [];
    const options = { patienceMs: 200, onSilence: (why: Error) => void silences.push(why) };
    const daemon = host.hold({ socket: host.server.socket });
    expect(await findHost(host.home, options)).toBeDefined();
    host.hang();
    expect(silences).toEqual([]);
    expect(await findHost(host.home, options)).toBeUndefined();
    expect(silences).toMatchObject([
      {
        code: "GOALD_DAEMON",
        message: expect.stringMatching(/^The daemon \(pid \d+\) takes no calls: .* did not answer within 0\.2 s\.$/),
        hint: "If it hangs: goald down --kill, then goald up",
      },
    ]);
    await host.server.stop();
    expect(await findHost(host.home, options)).toBeUndefined();
    daemon.release();
    using _replay = host.hold({});
    await host.server.start();
    expect(await findHost(host.home, options)).toBeUndefined();
    expect(silences).toHaveLength(1);
  });

  it("calls a host mute after a timeout, and at once for a run that takes no calls", async () => {
    await using host = await fakeHost();
    await host.server.stop();
    const daemon = host.hold({ socket: host.server.socket });
    const start = performance.now();
    expect(await askDaemon(host.home, 300)).toMatchObject({
      kind: "mute",
      info: { pid: process.pid },
      problem: { code: "GOALD_DAEMON" },
    });
    expect(performance.now() - start).toBeGreaterThan(290);
    daemon.release();
    using _run = host.hold();
    // This is longer than a test may take.
    expect(await askDaemon(host.home, 600_000)).toMatchObject({ kind: "mute", info: { startedAt: STARTED_AT } });
    await expect(ensureDaemon(host.home)).rejects.toMatchObject({ code: "GOALD_ALREADY_RUNNING", exitCode: 7 });
  });

  it("sends nothing to a socket of another user", async () => {
    await using host = await fakeHost();
    const { getuid } = process;
    process.getuid = () => 12_345;
    try {
      using _lock = host.hold({ socket: host.server.socket });
      expect(await askDaemon(host.home, 50)).toMatchObject({
        kind: "mute",
        problem: { message: expect.stringContaining("not to you (12345)") },
      });
    } finally {
      if (getuid) process.getuid = getuid;
    }
    expect(host.server.requests).toEqual([]);
  });
});

describe("a daemon of another version", () => {
  it("is used with a note if it speaks the same protocol", async () => {
    await using host = await fakeHost();
    using _lock = host.hold({ socket: host.server.socket });
    const tell = (text: string): void => void host.said.push(text);
    expect(await findHost(host.home, { version: "1.2.4", tell })).toBeDefined();
    expect(host.said).toEqual([
      "The daemon is goald 1.2.3, this is 1.2.4. To restart it with this version: goald restart",
    ]);
    expect(await ensureDaemon(host.home, { version: "1.2.3", tell })).toMatchObject({ started: false });
    expect(host.said).toHaveLength(1);
  });

  it("is rejected with a way out if it speaks another protocol", async () => {
    await using host = await fakeHost({ protocol: PROTOCOL_VERSION + 1 });
    using _lock = host.hold({ socket: host.server.socket });
    const refused = { code: "GOALD_DAEMON", hint: expect.stringContaining("goald restart") };
    await expect(findHost(host.home)).rejects.toMatchObject(refused);
    await expect(ensureDaemon(host.home)).rejects.toMatchObject(refused);
    expect(await askDaemon(host.home)).toMatchObject({ kind: "host" });
  });
});

describe("a daemon that should be running", () => {
  it("is missing when it is wanted and nobody holds the lock, until that mark is removed", async () => {
    await using host = await fakeHost();
    expect([isDaemonExpected(host.home), isDaemonMissing(host.home)]).toEqual([false, false]);
    expectDaemon(host.home, false);
    expect([isDaemonExpected(host.home), isDaemonMissing(host.home)]).toEqual([true, true]);
    const lock = host.hold();
    expect(isDaemonMissing(host.home)).toBe(false);
    lock.release();
    await stopExpectingDaemon(host.home);
    expect(isDaemonExpected(host.home)).toBe(false);
    // Also without a home.
    expect(isDaemonExpected({ ...host.home, privateFolder: join(host.server.socket, "x") })).toBe(false);
  });

  it("is not sought if it is not wanted, and not started without work", async () => {
    await using host = await fakeHost();
    let asked = 0;
    const hasUnfinished = async (): Promise<boolean> => ++asked > 99;
    await revive(host.home, hasUnfinished);
    expect(asked).toBe(0);
    await mkdir(join(host.home.privateFolder, "wanted"));
    await revive(host.home, hasUnfinished, { program: "/nowhere" });
    expect(asked).toBe(1);
  });

  it("gets a report of its failed start, and verbs that only look still work", async () => {
    await using host = await fakeHost();
    await mkdir(join(host.home.privateFolder, "wanted"));
    const tell = (text: string): void => void host.said.push(text);
    await revive(host.home, async () => true, { program: join(host.server.folder, "no-such-program.js"), tell });
    expect(host.said).toEqual([expect.stringMatching(/is down and could not be started again\. The daemon ended/)]);
  });
});
