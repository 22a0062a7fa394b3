import type { ServerResponse } from "node:http";
import { describe, expect, it } from "@jest/globals";
import { connectHost } from "#api/client.ts";
import type { Followed } from "#api/socket.ts";
import { type Answer, type Request, sendJson, startUnixServer } from "./unix-server.ts";

const event = (seq: number): string => `id: ${seq}\ndata: ${JSON.stringify({ seq, type: "agent-resumed" })}\n\n`;
const special = (name: string, reason: string): string => `event: ${name}\ndata: ${JSON.stringify({ reason })}\n\n`;

/** Sends one of these texts per connection, then closes it, or holds it open after `…`. */
function stream(...texts: readonly string[]): Answer {
  let connection = 0;
  return (_request, response) => {
    const text = texts[Math.min(connection++, texts.length - 1)] ?? "";
    open(response, text);
  };
}

function open(response: ServerResponse, text: string): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(text.replace("…", ""));
  if (!text.endsWith("…")) response.end();
}

const numberOf = (followed: Followed): number | string =>
  followed.kind === "event" ? followed.event.seq : followed.kind;
const askedFor = ({ path, headers }: Request): unknown[] => [path, headers["last-event-id"], headers.accept];

/** Returns the events up to that number. */
async function until(last: number, events: AsyncIterable<Followed>): Promise<readonly (number | string)[]> {
  const seen: (number | string)[] = [];
  for await (const followed of events) {
    seen.push(numberOf(followed));
    if (numberOf(followed) === last) break;
  }
  return seen;
}

describe("following an agent", () => {
  it("yields the committed events after a number, and sends the number in header and address", async () => {
    await using server = await startUnixServer(stream(`: alive\n\n${event(4)}${event(5)}…`));
    expect(await until(5, connectHost(server.socket).follow("a b", { after: 3 }))).toEqual([4, 5]);
    expect(server.requests.map(askedFor)).toEqual([["/v1/agents/a%20b/events?after=3", "3", "text/event-stream"]]);
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
    let next = 1;
    await using server = await startUnixServer((_request, response) => open(response, `${event(next++)}…`));
    const seen: (number | string)[] = [];
    for await (const followed of connectHost(server.socket).follow("a", { after: 0, patienceMs: 5_000 })) {
      seen.push(numberOf(followed));
      if (seen.length === 4) break;
      await server.stop();
      setTimeout(() => server.start(), 150);
    }
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
    const following = (async () => {
      for await (const followed of connectHost(server.socket).follow("a", { after: 0, patienceMs: 400 })) {
        expect(numberOf(followed)).toBe(1);
        await server.stop();
      }
    })();
    await expect(following).rejects.toMatchObject({ code: "GOALD_DAEMON", exitCode: 4 });
    expect(performance.now() - start).toBeGreaterThan(390);
  });

  it("treats a connection without any bytes as lost", async () => {
    await using server = await startUnixServer(stream(`${event(1)}…`, `${event(2)}…`));
    expect(await until(2, connectHost(server.socket).follow("a", { after: 0, idleMs: 60 }))).toEqual([1, 2]);
  });

  it("throws at once when the host rejects the request", async () => {
    await using server = await startUnixServer((_request, response) =>
      sendJson(response, 404, { error: { code: "GOALD_NOT_FOUND", message: "There is none.", hint: "" } }),
    );
    await expect(until(1, connectHost(server.socket).follow("a", { after: 0 }))).rejects.toMatchObject({
      code: "GOALD_NOT_FOUND",
    });
    expect(server.requests).toHaveLength(1);
  });

  it("retries when the host is unavailable for a moment", async () => {
    let calls = 0;
    await using server = await startUnixServer((_request, response) => {
      if (++calls > 1) return open(response, `${event(1)}…`);
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
    await expect(until(9, connectHost(server.socket).follow("a", { after: 0 }))).rejects.toMatchObject({
      code: "GOALD_INTERNAL",
    });
  });

  it("skips kinds of events that only a newer host knows", async () => {
    await using server = await startUnixServer(stream(`event: novelty\ndata: ...\n\n${event(1)}…`));
    expect(await until(1, connectHost(server.socket).follow("a", { after: 0 }))).toEqual([1]);
  });

  it.each(["while it waits for events", "while it waits for a host", "before it began"])(
    "ends without an error when it is aborted %s",
    async (when) => {
      await using server = await startUnixServer(stream(`${event(1)}…`));
      const leaving = new AbortController();
      if (when === "before it began") leaving.abort();
      const seen: (number | string)[] = [];
      for await (const followed of connectHost(server.socket).follow("a", { after: 0, signal: leaving.signal })) {
        seen.push(numberOf(followed));
        if (when === "while it waits for a host") await server.stop();
        setTimeout(() => leaving.abort(), 100);
      }
      expect(seen).toEqual(when === "before it began" ? [] : [1]);
      if (when === "while it waits for a host") await server.start();
    },
  );

  it("keeps no connection open after the reader leaves the loop", async () => {
    await using server = await startUnixServer(stream(`${event(1)}…`));
    await until(1, connectHost(server.socket).follow("a", { after: 0 }));
    while (server.connections > 0) await new Promise(setImmediate);
    expect(server.connections).toBe(0);
  });
});
