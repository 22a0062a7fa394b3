import { describe, expect, it } from "@jest/globals";
import { askDaemon, ensureDaemon } from "#api/find-daemon.ts";
import { makeFakeControl, serve } from "../helpers/local-server.ts";
import { fakeHost, STARTED_AT } from "./unix-server.ts";

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
