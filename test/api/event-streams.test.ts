import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { connectHost } from "#api/client.ts";
import { createLiveReader } from "#api/event-stream.ts";
import type { Followed } from "#api/socket.ts";
import { createRedactor } from "#util/redact.ts";
import { eventually, type Message, messagesIn, useServers } from "../helpers/local-server.ts";
import { type Answer, type Request, says, sendJson, startUnixServer } from "./unix-server.ts";

const serveAgents = useServers();
const upTo = (last: number): readonly number[] => Array.from({ length: last }, (_, at) => at + 1);
const LONG = "x".repeat(2_000);
/** Sends HTTP/1.0, so that the response body is the stream without chunk headers. */
const following = (what = "agents/t/events"): string =>
  `GET /v1/${what} HTTP/1.0\r\nHost: goald\r\nAccept: text/event-stream\r\n\r\n`;

/** The numbers of the last events, by agent, as each message has them. */
const headsIn = (messages: readonly Message[]) =>
  messages.map(({ data }) => {
    const { agents, removed } = data as { agents: { id: string; head: number }[]; removed: string[] };
    return [Object.fromEntries(agents.map(({ id, head }) => [id, head])), removed];
  });

describe("a reader of changes", () => {
  it("gets all agents, then those that changed, then the ids of those that are gone", async () => {
    const { control, api } = await serveAgents({ a: 1, b: 2 });
    await using reader = await api.followUntil(1, "/v1/changes");
    control.append("b", 1);
    await reader.until(() => reader.messages.length === 2);
    control.add("c", 1);
    await reader.until(() => reader.messages.length === 3);
    await control.remove("a", { force: true, files: false });
    await reader.until(() => reader.messages.length === 4);
    expect(headsIn(reader.messages)).toEqual([
      [{ a: 1, b: 2 }, []],
      [{ b: 3 }, []],
      [{ c: 1 }, []],
      [{}, ["a"]],
    ]);
  });

  it("gets all agents at once from a host without agents", async () => {
    const { api } = await serveAgents({});
    await using reader = await api.followUntil(1, "/v1/changes");
    expect(headsIn(reader.messages)).toEqual([[{}, []]]);
  });

  it("gets many changes in few messages", async () => {
    const { control, api } = await serveAgents({ a: 1 });
    await using reader = await api.followUntil(1, "/v1/changes");
    for (let more = 0; more < 500; more++) {
      control.append("a", 1);
      await new Promise(setImmediate);
    }
    const isLast = (): boolean => JSON.stringify(headsIn(reader.messages).at(-1)) === '[{"a":501},[]]';
    await reader.until(isLast);
    expect(reader.messages.length).toBeLessThan(50);
  });

  it("gets what is committed and bye when the host goes, and counts as a follower", async () => {
    const { control, api } = await serveAgents({ a: 1 }, { limits: { followers: 1 } });
    await using reader = await api.followUntil(1, "/v1/changes");
    await expect(api.follow("/v1/changes")).rejects.toThrow(/503 .*Too many clients/);
    control.append("a", 1);
    await api[Symbol.asyncDispose]();
    await reader.ended;
    expect(headsIn(reader.messages.slice(0, -1)).at(-1)).toEqual([{ a: 2 }, []]);
    expect(reader.messages.at(-1)?.event).toBe("bye");
  });

  it("gets dropped with the reason when the agents cannot be read", async () => {
    const { control, api } = await serveAgents({});
    control.fail("agents", new Error("the disk is gone"));
    await using reader = await api.follow("/v1/changes");
    await reader.ended;
    expect(reader.messages).toMatchObject([{ event: "dropped", data: { reason: expect.stringContaining("gone") } }]);
  });
});

describe("a reader of events", () => {
  it("continues after its Last-Event-ID and ignores the number in the address", async () => {
    const { api } = await serveAgents({ t: 9 });
    await using reader = await api.followUntil(2, "/v1/agents/t/events?after=2", { "last-event-id": "7" });
    expect(reader.numbers).toEqual([8, 9]);
  });

  it.each(["x", "-1", "1.5", "", "0x1", "1e3", "9".repeat(16)])("is rejected with the Last-Event-ID %j", async (id) => {
    const { control, api } = await serveAgents({ t: 9 });
    const headers = { accept: "text/event-stream", "last-event-id": id };
    const { status, body } = await api.ask("GET", "/v1/agents/t/events", { headers });
    expect([status, body]).toMatchObject([400, { error: { code: "GOALD_USAGE" } }]);
    expect(control.calls).toEqual([]);
  });

  it("gets an error if the log does not have the event that it names", async () => {
    const { control, api } = await serveAgents({ t: 9 });
    await expect(api.follow("/v1/agents/t/events?after=10")).rejects.toThrow(/409 .*GOALD_CONFLICT.*ends with event 9/);
    await using reader = await api.follow("/v1/agents/t/events?after=9");
    control.append("t", 1);
    await reader.until(() => reader.numbers.length === 1);
  });

  it("stays with its agent when a newer agent takes the name", async () => {
    const { control, api } = await serveAgents({ Chef: 2 });
    await using reader = await api.follow("/v1/agents/Chef/events");
    const newer = control.add("Chef", 5);
    control.append(newer, 3, "of the newer");
    control.append("chef", 1, "of the older");
    await reader.until(() => reader.numbers.length === 3);
    expect(reader.messages.at(-1)?.data).toMatchObject({ seq: 3, text: "of the older" });
    expect((await api.ask("GET", "/v1/agents/Chef/events")).body).toMatchObject({ head: 8 });
  });

  it("receives bye when its agent is removed and another one gets the same id", async () => {
    const { control, api } = await serveAgents();
    await using reader = await api.followUntil(3, "/v1/agents/t/events");
    const removed = control.remove("t", { force: true, files: false });
    control.add("t", 1);
    await removed;
    await reader.ended;
    expect([reader.numbers, reader.messages.at(-1)?.event]).toEqual([[1, 2, 3], "bye"]);
  });

  it("gets an error when the log is unreadable, and the host reports it too", async () => {
    const { control, api } = await serveAgents();
    await using reader = await api.followUntil(3, "/v1/agents/t/events");
    control.fail("page", new Error("the disk is gone"));
    control.append("t", 1);
    await reader.ended;
    const reason = "The events of t could not be read: the disk is gone";
    expect(reader.messages.at(-1)).toEqual({ event: "dropped", id: null, data: { reason, after: 3 } });
    expect(api.problems).toEqual([reason]);
  });

  it("is disconnected at a gap in the log and gets no event after the gap", async () => {
    const { control, api } = await serveAgents({ t: 5 });
    control.damage("t", 2);
    await using reader = await api.follow("/v1/agents/t/events");
    await reader.ended;
    expect([reader.numbers, reader.messages.at(-1)?.event]).toEqual([[1, 2, 3], "dropped"]);
    expect(api.problems).toEqual(["The events of t could not be read: event 4 is missing, and the last one is 5."]);
  });

  it("receives comments without an id while the agent is silent", async () => {
    const { api } = await serveAgents({ t: 0 }, { limits: { aliveMs: 10 } });
    await using reader = await api.follow("/v1/agents/t/events");
    await reader.until(() => reader.text.split(": alive\n\n").length > 3);
    expect(reader.messages).toEqual([]);
  });

  it("leaves no resources behind after a thousand disconnects", async () => {
    const { control, api } = await serveAgents();
    const warnings: string[] = [];
    const onWarning = ({ message }: Error): void => void warnings.push(message);
    process.on("warning", onWarning);
    await using stays = await api.follow("/v1/agents/t/events");
    for (let round = 0; round < 50; round++)
      await Promise.all(
        upTo(20).map(async () => {
          await using _reader = await api.followUntil(3, "/v1/agents/t/events");
        }),
      );
    // One reader stays connected, which proves that the counters work.
    await eventually(() => api.server.followers === 1 && control.waits === 1);
    control.append("t", 1);
    await stays.until(() => stays.numbers.length === 4);
    await stays[Symbol.asyncDispose]();
    await eventually(() => api.server.followers === 0 && control.waits === 0);
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
  });
});

describe("a reader that does not read", () => {
  it("is disconnected with its position, and blocks neither other readers nor the agent", async () => {
    const { control, api } = await serveAgents({ t: 1 }, { limits: { slowReaderMs: 250 } });
    const slow = api.open(following());
    await using live = await api.follow("/v1/agents/t/events");
    await eventually(() => control.waits === 2);
    // The other reader receives everything while this one does not read.
    for (let burst = 1; burst <= 100; burst++) {
      control.append("t", 20, LONG);
      await live.until(() => live.numbers.length === 1 + 20 * burst);
    }
    expect(slow.bytesRead).toBeLessThan(1_000_000);
    // Longer than the limit: what follows is read from a stream that has ended.
    await sleep(300);
    let text = "";
    for await (const piece of slow.setEncoding("utf8")) text += piece;
    const messages = messagesIn(text);
    const taken = messages.filter(({ event }) => event === "message");
    expect(taken.map(({ id }) => Number(id))).toEqual(upTo(taken.length));
    expect(taken.length).toBeLessThan(1_000);
    expect(messages.at(-1)).toEqual({
      event: "dropped",
      id: null,
      data: { reason: "Nothing was read for 250 ms.", after: taken.length },
    });
    await eventually(() => api.server.followers === 1);
    await using again = await api.follow(`/v1/agents/t/events?after=${taken.length}`);
    await again.until(() => again.numbers.at(-1) === 2_001);
    expect(again.numbers[0]).toBe(taken.length + 1);
  });

  it.each(["agents/t/events", "changes"])("is cut off when it does not read the bye of %s either", async (what) => {
    const others = Object.fromEntries(upTo(3_000).map((number) => [`t${number}`, 1]));
    const { control, api } = await serveAgents({ t: 1, ...others }, { limits: { slowReaderMs: 50, flushMs: 50 } });
    const slow = api.open(following(what));
    control.append("t", 1_000, LONG);
    await eventually(() => api.server.followers === 1);
    await eventually(() => api.server.followers === 0);
    slow.destroy();
  });

  it("differs from a reader of a long log, which stays connected", async () => {
    const { api } = await serveAgents({ t: 20_000 }, { limits: { slowReaderMs: 5_000 } });
    await using reader = await api.followUntil(20_000, "/v1/agents/t/events");
    expect(reader.messages.every(({ event }) => event === "message")).toBe(true);
  });
});

describe("a server that closes", () => {
  it("sends committed events before bye", async () => {
    const { control, api } = await serveAgents({ t: 2 });
    await using reader = await api.followUntil(2, "/v1/agents/t/events");
    control.append("t", 500);
    await api.server.close("The host goes down.");
    await reader.ended;
    expect(reader.numbers).toEqual(upTo(502));
    expect(reader.messages.at(-1)).toEqual({ event: "bye", id: null, data: { reason: "The host goes down." } });
  });

  it("limits how long it waits for a reader that does not read", async () => {
    const { control, api } = await serveAgents({ t: 1_000 }, { limits: { flushMs: 50, closeMs: 60_000 } });
    control.append("t", 1_000, LONG);
    const slow = api.open(following());
    await eventually(() => api.server.followers === 1);
    await api.server.close("The host goes down.");
    expect(api.server.followers).toBe(0);
    slow.destroy();
  });

  it("finishes the request in progress within its limit and accepts no other", async () => {
    const { control, api } = await serveAgents({ t: 1 }, { limits: { closeMs: 300 } });
    const release = control.hold("stop");
    const stop = api.ask("POST", "/v1/agents/t/stop", { body: { graceMs: 0 } });
    await eventually(() => control.calls.length === 1);
    control.hold("kill");
    const kill = api.ask("POST", "/v1/agents/t/kill").catch((error: Error) => error);
    await eventually(() => control.calls.length === 2);
    const closed = api.server.close("The host goes down.");
    const refused = await api.ask("GET", "/v1/status").catch(({ code }: NodeJS.ErrnoException) => ({ status: code }));
    // The listener ends some turns of the event loop later; until then it answers that it goes down.
    expect(["ENOENT", "ECONNREFUSED", "ECONNRESET", 503]).toContain(refused.status);
    release();
    expect((await stop).status).toBe(200);
    await closed;
    expect(await kill).toMatchObject({ code: "ECONNRESET" });
    await api.server.close("Once more.");
    expect(control.calls.map(({ method }) => method)).toEqual(["stop", "kill"]);
  });

  it("accepts no further request on an open connection", async () => {
    const { control, api } = await serveAgents({ t: 1 });
    const release = control.hold("stop");
    const head = "HTTP/1.1\r\nHost: goald\r\nContent-Length: 0\r\n\r\n";
    const connection = api.open(`POST /v1/agents/t/stop ${head}`).setEncoding("utf8");
    await eventually(() => control.calls.length === 1);
    const closed = api.server.close("The host goes down.");
    connection.write(`POST /v1/agents/t/kill ${head}`);
    let text = "";
    connection.on("data", (piece: string) => {
      text += piece;
    });
    const ended = new Promise((resolve) => connection.once("close", resolve));
    release();
    await Promise.all([closed, ended]);
    expect(text.match(/HTTP\/1\.1 \d+/g)?.[0]).toBe("HTTP/1.1 200");
    expect(text).toContain("connection: close");
    expect(control.calls.map(({ method }) => method)).toEqual(["stop"]);
  });
});

describe("a reply that is still streaming", () => {
  const SECRET = "sk-live-9Zx81Qw";
  const piecesIn = (messages: readonly Message[]) =>
    messages.filter(({ event }) => event === "delta").map(({ data }) => data as { from: number; text: string });
  const textOf = (messages: readonly Message[]): string =>
    piecesIn(messages).reduce((text, piece) => {
      expect(piece.from).toBe(text.length);
      return text + piece.text;
    }, "");

  it("goes in pieces without ids to readers that ask for it, and to no others", async () => {
    const { control, api } = await serveAgents({ t: 2 });
    await using live = await api.follow("/v1/agents/t/events?live=true");
    await using other = await api.follow("/v1/agents/t/events");
    await live.until(() => live.numbers.length === 2);
    for (const piece of ["I wr", "ite the", " first li", "ne now"]) control.addText("t", 2, piece);
    await live.until(() => textOf(live.messages).includes("line "));
    expect(textOf(live.messages)).toBe("I write the first line ");
    control.append("t", 1);
    await live.until(() => live.numbers.length === 3);
    await other.until(() => other.numbers.length === 3);
    expect(live.messages.filter(({ event, id }) => event === "delta" && id !== null)).toEqual([]);
    expect(piecesIn(other.messages)).toEqual([]);
  });

  it("is sent from its beginning to late readers, and again for each new reply", async () => {
    const { control, api } = await serveAgents({ t: 2 });
    control.addText("t", 2, "one two ");
    await using late = await api.follow("/v1/agents/t/events?live=true");
    await late.until(() => piecesIn(late.messages).length > 0);
    expect(piecesIn(late.messages)).toEqual([{ seq: 2, from: 0, text: "one two " }]);
    control.addText("t", 5, "three ");
    await late.until(() => piecesIn(late.messages).length > 1);
    expect(piecesIn(late.messages)[1]).toEqual({ seq: 5, from: 0, text: "three " });
  });

  it("never contains a secret split into pieces, and is followed by the last line that a cell has printed, once", async () => {
    const { control, api } = await serveAgents({ t: 1 }, { redact: (text) => text.replaceAll(SECRET, "[redacted]") });
    await using live = await api.follow("/v1/agents/t/events?live=true");
    await using other = await api.follow("/v1/agents/t/events");
    const printed = (messages: readonly Message[]) =>
      messages.flatMap(({ event, data }) => (event === "printed" ? [(data as { line: string }).line] : []));
    for (const piece of ["the key ", ...SECRET, " is set "]) control.addText("t", 1, piece);
    await live.until(() => textOf(live.messages).includes("set"));
    expect(textOf(live.messages)).toBe("the key [redacted] is set ");
    control.print("t", `page 1 by ${SECRET}`);
    await live.until(() => printed(live.messages).length === 1);
    control.print("t", `page 1 by ${SECRET}`);
    for (let page = 2; page < 100; page++) control.print("t", `page ${page}`);
    await live.until(() => printed(live.messages).includes("page 99"));
    const lines = printed(live.messages);
    expect([lines[0], lines.at(-1), lines.length < 10]).toEqual(["page 1 by [redacted]", "page 99", true]);
    control.append("t", 1);
    await other.until(() => other.numbers.length === 2);
    expect(printed(other.messages)).toEqual([]);
  });

  const QUOTED = 'pl",nted"}8Kd7w';
  it.each([
    ["a reply in JSON", `{"thoughts":{"text":${JSON.stringify(QUOTED)}},"command":{"name":"none"}}`, '"none"'],
    ["a reply in words", `The key is ${QUOTED} and no other. `, "The key is [redacted] and no other. "],
  ])("never contains a part of a secret with quotes: %s", (_title, reply, end) => {
    const nextPiece = createLiveReader(createRedactor([QUOTED]));
    const ends = Array.from(reply, (_, at) => reply.slice(0, at + 1));
    const sent = ends.map((text) => nextPiece({ seq: 1, text })?.text ?? "").join("");
    expect(sent).toContain("[redacted]");
    expect(sent.endsWith(end)).toBe(true);
    expect(sent).not.toContain("nted");
  });
});

const event = (seq: number): string => `id: ${seq}\ndata: ${JSON.stringify({ seq, type: "agent-resumed" })}\n\n`;
const special = (name: string, reason: string): string => `event: ${name}\ndata: ${JSON.stringify({ reason })}\n\n`;

/** Sends one of these texts per connection, then closes it, or holds it open after `…`. */
function stream(...texts: readonly string[]): Answer {
  const left = [...texts];
  return (_request, response) => open(response, (left.length > 1 ? left.shift() : left[0]) ?? "");
}

function open(response: ServerResponse, text: string): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(text.replace("…", ""));
  if (!text.endsWith("…")) response.end();
}

const numberOf = (followed: Followed): number | string =>
  followed.kind === "event" ? followed.event.seq : followed.kind;
const askedFor = ({ path, headers }: Request): unknown[] => [path, headers["last-event-id"], headers.accept];

/** Returns the events up to that number. `meanwhile` is called after each of the others. */
async function until(last: number, events: AsyncIterable<Followed>, meanwhile: () => unknown = () => undefined) {
  const seen: (number | string)[] = [];
  for await (const followed of events) {
    seen.push(numberOf(followed));
    if (numberOf(followed) === last) break;
    await meanwhile();
  }
  return seen;
}

describe("following an agent", () => {
  it("yields the events after a number, which it sends in header and address, but no kinds of a newer host", async () => {
    await using server = await startUnixServer(
      stream(`: alive\n\n${event(4)}event: novelty\ndata: ...\n\n${event(5)}…`),
    );
    expect(await until(5, connectHost(server.socket).follow("a b", { after: 3 }))).toEqual([4, 5]);
    expect(server.requests.map(askedFor)).toEqual([["/v1/agents/a%20b/events?after=3", "3", "text/event-stream"]]);
    // No connection stays open after the reader has left the loop.
    while (server.connections > 0) await new Promise(setImmediate);
  });

  it("continues after the last event when the connection is lost, without gaps or duplicates", async () => {
    await using server = await startUnixServer(
      // The connections end inside an event, repeat older events, or close before any event.
      stream(`${event(1)}${event(2)}${event(3).slice(0, 20)}`, `${event(1)}${event(2)}${event(3)}`, "", `${event(4)}…`),
    );
    expect(await until(4, connectHost(server.socket).follow("a", { after: 0 }))).toEqual([1, 2, 3, 4]);
    expect(server.requests.map(({ headers }) => headers["last-event-id"])).toEqual(["0", "2", "3", "3"]);
  });

  it("survives a host that is killed and restarted", async () => {
    await using server = await startUnixServer(stream(...upTo(4).map((seq) => `${event(seq)}…`)));
    const events = connectHost(server.socket).follow("a", { after: 0, patienceMs: 5_000 });
    const seen = await until(4, events, async () => {
      await server.stop();
      setTimeout(() => server.start(), 150);
    });
    expect(seen).toEqual([1, 2, 3, 4]);
  });

  it("reports a disconnect as too slow or as a shutdown, and reconnects", async () => {
    await using server = await startUnixServer(
      stream(`${event(1)}${special("dropped", "slow")}`, `${event(2)}${special("bye", "down")}`, `${event(3)}…`),
    );
    const seen: Followed[] = [];
    for await (const followed of connectHost(server.socket).follow("a", { after: 0 })) {
      seen.push(followed);
      if (numberOf(followed) === 3) break;
    }
    expect(seen.map(numberOf)).toEqual([1, "dropped", 2, "bye", 3]);
    expect(seen[1]).toEqual({ kind: "dropped", reason: "slow", after: 1 });
    expect(seen[3]).toEqual({ kind: "bye", reason: "down", after: 2 });
  });

  it("gives up when no host answers within its patience, and not earlier", async () => {
    await using server = await startUnixServer(stream(`${event(1)}…`));
    const start = performance.now();
    const following = until(2, connectHost(server.socket).follow("a", { after: 0, patienceMs: 400 }), server.stop);
    await expect(following).rejects.toMatchObject({ code: "GOALD_DAEMON", exitCode: 4 });
    expect(performance.now() - start).toBeGreaterThan(390);
  });

  it("treats a connection without any bytes as lost", async () => {
    await using server = await startUnixServer(stream(`${event(1)}…`, `${event(2)}…`));
    expect(await until(2, connectHost(server.socket).follow("a", { after: 0, idleMs: 60 }))).toEqual([1, 2]);
  });

  it("throws at once when the host rejects the request", async () => {
    await using server = await startUnixServer(
      says(404, { error: { code: "GOALD_NOT_FOUND", message: "There is none.", hint: "" } }),
    );
    const refused = until(1, connectHost(server.socket).follow("a", { after: 0 }));
    await expect(refused).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
    expect(server.requests).toHaveLength(1);
  });

  it("retries when the host is unavailable for a moment", async () => {
    await using server = await startUnixServer((_request, response) => {
      if (server.requests.length > 1) return open(response, `${event(1)}…`);
      sendJson(response, 503, { error: { code: "GOALD_DAEMON", message: "Not yet.", hint: "" } });
    });
    expect(await until(1, connectHost(server.socket).follow("a", { after: 0 }))).toEqual([1]);
  });

  it.each<[string, string]>([
    ["a gap", event(1) + event(3)],
    ["an event without a number", "data: {}\n\n"],
    ["text that is not JSON", "data: {\n\n"],
    ["JSON that is not an object", "data: null\n\n"],
  ])("throws at %s", async (_what, text) => {
    await using server = await startUnixServer(stream(`${text}…`));
    const broken = until(9, connectHost(server.socket).follow("a", { after: 0 }));
    await expect(broken).rejects.toMatchObject({ code: "GOALD_INTERNAL" });
  });

  it.each(["while it waits for events", "while it waits for a host", "before it began"])(
    "ends without an error when it is aborted %s",
    async (when) => {
      await using server = await startUnixServer(stream(`${event(1)}…`));
      const leaving = new AbortController();
      if (when === "before it began") leaving.abort();
      const events = connectHost(server.socket).follow("a", { after: 0, signal: leaving.signal });
      const seen = await until(2, events, async () => {
        if (when === "while it waits for a host") await server.stop();
        setTimeout(() => leaving.abort(), 100);
      });
      expect(seen).toEqual(when === "before it began" ? [] : [1]);
      if (when === "while it waits for a host") await server.start();
    },
  );
});
