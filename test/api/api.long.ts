import { mkdir } from "node:fs/promises";
import { describe, expect, it } from "@jest/globals";
import { PROTOCOL_VERSION } from "#api/control.ts";
import { askDaemon, ensureDaemon } from "#api/find-daemon.ts";
import { findHome, type Home } from "#config/home.ts";
import { type HostInfo, type HostLock, holdHostLock } from "#store/sqlite/host-lock.ts";
import { makeFakeControl, serve } from "../helpers/local-server.ts";
import { sendJson, startUnixServer, type UnixServer } from "./unix-server.ts";

const STARTED_AT = "2026-11-20T10:00:00.000Z";

interface FakeHost extends AsyncDisposable {
  readonly home: Home;
  readonly server: UnixServer;
  readonly said: string[];
  /** Sets the answer for the next calls. */
  tell(more: Record<string, unknown>): void;
  hold(more?: Partial<HostInfo>): HostLock;
}

/** Makes a home whose host is this process and answers `status` with `told`. */
async function fakeHost(told: Record<string, unknown> = {}): Promise<FakeHost> {
  const status: Record<string, unknown> = {
    pid: 4711,
    version: "1.2.3",
    protocol: PROTOCOL_VERSION,
    stopping: false,
    ...told,
  };
  const server = await startUnixServer((_request, response) => sendJson(response, 200, status));
  const home = await findHome({
    flag: server.folder,
    env: {},
    cwd: "/",
    checkout: undefined,
    userHome: server.folder,
    configHome: undefined,
    isTerminal: false,
    askTrust: async () => false,
    uid: process.getuid?.(),
  });
  await mkdir(home.privateFolder, { mode: 0o700 });
  return {
    home,
    server,
    said: [],
    tell: (more) => void Object.assign(status, more),
    hold: (more = {}) =>
      holdHostLock(home.lock, { pid: process.pid, version: "1.2.3", startedAt: STARTED_AT, ...more }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

describe("finding the host of a home", () => {
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
});

describe("the limits of connections", () => {
  it("leave room for calls, however many clients send half a head", async () => {
    const control = makeFakeControl();
    control.add("t", 1);
    await using api = await serve(control, { limits: { connections: 3 } });
    await using _follower = await api.follow("/v1/agents/t/events");
    for (let count = 0; count < 20; count++) api.open("GET /v1/status HTTP/1.1\r\nHost: go");
    expect((await api.ask("POST", "/v1/agents/t/kill")).status).toBe(200);
    expect(api.server.followers).toBe(1);
  });
});
