import { rm } from "node:fs/promises";
import { describe, expect, it } from "@jest/globals";
import { type Client, connectHost } from "#api/client.ts";
import { callHost } from "#api/socket.ts";
import { sendJson, startUnixServer } from "./unix-server.ts";

describe("a call to the host", () => {
  it("sends its request as JSON to the Host goald on a connection of its own", async () => {
    await using server = await startUnixServer((_request, response) =>
      sendJson(response, 200, { agent: {}, note: "" }),
    );
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
  });

  it("decodes lists", async () => {
    await using server = await startUnixServer(({ path }, response) =>
      sendJson(response, 200, path === "/v1/reload" ? { changes: ["c"] } : { agents: [{ id: "a" }] }),
    );
    expect(await connectHost(server.socket).agents()).toEqual([{ id: "a" }]);
    expect(await connectHost(server.socket).reload()).toEqual(["c"]);
  });

  it("throws the error of the host with its code, message and hint", async () => {
    await using server = await startUnixServer((_request, response) =>
      sendJson(response, 404, { error: { code: "GOALD_NOT_FOUND", message: "There is none.", hint: "goald ps" } }),
    );
    await expect(connectHost(server.socket).agent("x")).rejects.toMatchObject({
      name: "GoaldError",
      code: "GOALD_NOT_FOUND",
      message: "There is none.",
      hint: "goald ps",
      exitCode: 3,
    });
  });

  it.each([["GOALD_OF_TOMORROW"], ["constructor"], [7], [undefined]])(
    "treats the unknown code %j as an internal error and keeps the message",
    async (code) => {
      await using server = await startUnixServer((_request, response) =>
        sendJson(response, 500, { error: { code, message: "Words.", hint: 1 } }),
      );
      await expect(connectHost(server.socket).status()).rejects.toMatchObject({
        code: "GOALD_INTERNAL",
        message: "Words.",
        hint: "",
        exitCode: 1,
      });
    },
  );

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

  it("reports a lost connection when the host dies before it answers", async () => {
    await using server = await startUnixServer((_request, response) => response.destroy());
    await expect(connectHost(server.socket).status()).rejects.toMatchObject({
      code: "GOALD_DAEMON",
      message: expect.stringContaining("connection to the daemon was lost"),
    });
  });

  it.each<[string, number, string]>([
    ["text that is not JSON", 200, "<html>"],
    ["an error that goald did not send", 502, "Bad Gateway"],
    ["JSON that is not an error of goald", 400, '{"error":"no"}'],
  ])("rejects %s as an answer", async (_what, status, text) => {
    await using server = await startUnixServer((_request, response) => {
      response.writeHead(status);
      response.end(text);
    });
    await expect(connectHost(server.socket).status()).rejects.toMatchObject({
      code: "GOALD_DAEMON",
      message: expect.stringContaining("not a daemon that this goald understands"),
    });
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

  it("leaves no handle open, so that the process can end", async () => {
    await using server = await startUnixServer((_request, response) => sendJson(response, 200, {}));
    const client: Client = connectHost(server.socket);
    await Promise.all([client.status(), client.agent("a"), client.shutdown(0)]);
    while (server.connections > 0) await new Promise(setImmediate);
    expect(server.connections).toBe(0);
  });
});
