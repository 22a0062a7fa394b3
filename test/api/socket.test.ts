import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, lstat, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { useFolder } from "../helpers/folder.ts";
import { ask, eventually, makeFakeControl, serve, useServers } from "../helpers/local-server.ts";

const at = useFolder();
beforeEach(() => chmod(at(), 0o700));
const start = async (socket: string) => (await serve(makeFakeControl(), { socket })).server;
const isThere = (path: string): Promise<boolean> => lstat(path).then(Boolean, () => false);

describe("the socket", () => {
  it("is private to its owner whatever the umask is, and is removed when the server closes", async () => {
    const socket = at("s.sock");
    const before = process.umask(0);
    const server = await start(socket).finally(() => process.umask(before));
    const found = await lstat(socket);
    expect([found.isSocket(), (found.mode & 0o777).toString(8)]).toEqual([true, "600"]);
    expect((await ask(socket, "GET", "/v1/status")).status).toBe(200);
    await server.close("The test is over.");
    expect(await isThere(socket)).toBe(false);
  });

  it("replaces one that a killed process left", async () => {
    const socket = at("s.sock");
    const child = spawn(process.execPath, [
      "-e",
      `net.createServer().listen(${JSON.stringify(socket)}, () => console.log("up"))`,
    ]);
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect((await lstat(socket)).isSocket()).toBe(true);
    await expect(ask(socket, "GET", "/v1/status")).rejects.toThrow("ECONNREFUSED");
    const server = await start(socket);
    expect((await ask(socket, "GET", "/v1/status")).status).toBe(200);
    await server.close("The test is over.");
  });

  it("never replaces a file, a folder, or a link to a socket", async () => {
    const [file, inner, link, target] = [at("file"), at("inner"), at("link"), at("target")];
    const other = createServer().listen(target);
    await once(other, "listening");
    await writeFile(file, "mine");
    await mkdir(inner);
    await symlink(target, link);
    for (const path of [file, inner, link])
      await expect(start(path)).rejects.toMatchObject({ code: "GOALD_DAEMON", message: expect.stringContaining(path) });
    expect(await readFile(file, "utf8")).toBe("mine");
    for (const path of [inner, link, target]) expect(await isThere(path)).toBe(true);
    other.close();
    await once(other, "close");
  });

  it("is created only in a folder that is private to us and not a link", async () => {
    const [open, link] = [at("open"), at("link")];
    await mkdir(open);
    await symlink(open, link);
    const refused = async (path: string, words: RegExp) => {
      const error = { code: "GOALD_DAEMON", message: expect.stringMatching(words) };
      await expect(start(join(path, "s.sock"))).rejects.toMatchObject(error);
    };
    await chmod(open, 0o750);
    await refused(open, /open to other users/);
    await chmod(open, 0o701);
    await refused(open, /open to other users/);
    await chmod(open, 0o700);
    await refused(link, /link/);
    await refused(at("missing"), /does not exist/);
    await (await start(join(open, "s.sock"))).close("The test is over.");
  });

  it("accepts an absolute path of up to 107 bytes", async () => {
    const fits = at("s".repeat(107 - at("/").length));
    await (await start(fits)).close("The test is over.");
    await expect(start(`${fits}s`)).rejects.toMatchObject({
      code: "GOALD_DAEMON",
      message: expect.stringMatching(/107 bytes, got 108/),
    });
    await expect(start("s.sock")).rejects.toMatchObject({ code: "GOALD_DAEMON" });
  });
});

const serveAgents = useServers();

describe("the limits of connections", () => {
  it("let 200 agents be created at once, each by a client of its own", async () => {
    const { control, api } = await serveAgents({});
    const settings = { approve: "risky", stepLimit: 9 };
    const create = (name: string) =>
      api.ask("POST", "/v1/agents", { body: JSON.stringify({ name, role: "r", goals: ["g"], settings }) });
    const replies = await Promise.all(Array.from({ length: 200 }, (_, at) => create(`a${at}`)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201]));
    expect(control.calls.filter(({ method }) => method === "create")).toHaveLength(200);
  });

  it("reject one connection too many with an error, and accept it after another has closed", async () => {
    const { control, api } = await serveAgents({ t: 1 }, { limits: { connections: 3 } });
    const first = await api.follow("/v1/agents/t/events");
    await using _second = await api.follow("/v1/agents/t/events");
    await using _third = await api.follow("/v1/agents/t/events");
    const refused = await api.ask("POST", "/v1/agents/t/kill");
    const error = { code: "GOALD_DAEMON", message: expect.stringMatching(/too many/i) };
    expect(refused).toMatchObject({ status: 503, headers: { connection: "close" }, body: { error } });
    expect(control.calls.filter(({ method }) => method === "kill")).toEqual([]);
    await first[Symbol.asyncDispose]();
    await eventually(() => api.server.followers === 2);
    expect((await api.ask("POST", "/v1/agents/t/kill")).status).toBe(200);
  });

  it("leave room for calls to an agent, however many programs follow it", async () => {
    const { api } = await serveAgents({ t: 1 }, { limits: { followers: 2 } });
    await using _first = await api.follow("/v1/agents/t/events");
    await using _second = await api.follow("/v1/agents/t/events");
    const refused = await api.ask("GET", "/v1/agents/t/events", { headers: { accept: "text/event-stream" } });
    const error = { code: "GOALD_DAEMON", message: "Too many clients follow agents: 2." };
    expect(refused).toMatchObject({ status: 503, body: { error } });
    expect((await api.ask("POST", "/v1/agents/t/kill")).status).toBe(200);
  });

  it("leave room for calls, however many clients send half a head", async () => {
    const { api } = await serveAgents({ t: 1 }, { limits: { connections: 3, closeMs: 100 } });
    await using _follower = await api.follow("/v1/agents/t/events");
    for (let count = 0; count < 20; count++) api.open("GET /v1/status HTTP/1.1\r\nHost: go");
    expect((await api.ask("POST", "/v1/agents/t/kill")).status).toBe(200);
    expect(api.server.followers).toBe(1);
  });

  it("end a request whose head or body does not arrive", async () => {
    const { api } = await serveAgents({}, { limits: { headersMs: 100, requestMs: 200 } });
    const answers = await Promise.all([
      api.send("GET /v1/status HTTP/1.1\r\nHost: goald\r\n"),
      api.send(
        "POST /v1/reload HTTP/1.1\r\nHost: goald\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
      ),
    ]);
    for (const answer of answers) {
      expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
      expect(JSON.parse(answer.split("\r\n\r\n")[1] ?? "")).toMatchObject({ error: { code: "GOALD_USAGE" } });
    }
  });
});
