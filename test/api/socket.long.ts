import { describe, expect, it } from "@jest/globals";
import { makeFakeControl } from "../helpers/fake-control.ts";
import { serve } from "../helpers/local-server.ts";

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
