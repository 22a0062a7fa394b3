import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { openTunnel, type TunnelTarget } from "#http/tunnel.ts";

let server: Server;
let connections = 0;
let exceeded = 0;
beforeAll(async () => {
  server = createServer((socket: Socket) => {
    connections++;
    socket.on("error", () => undefined);
    socket.end(Buffer.alloc(1_000, "x"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => void server.close());

const portOf = (): number => (server.address() as AddressInfo).port;
const open = (more: Partial<TunnelTarget> = {}) =>
  openTunnel({
    host: "judged.test",
    port: portOf(),
    addresses: ["127.0.0.1"],
    maxBytes: 10_000,
    onExceeded: () => void exceeded++,
    ...more,
  });
const portBytes = (port: number): Uint8Array => Uint8Array.of(port >> 8, port & 0xff);
const request = (type: number, host: Uint8Array, port = portOf()): Uint8Array =>
  Buffer.concat([Uint8Array.of(5, 1, 0, 5, 1, 0, type), host, portBytes(port)]);
const named = (name: string): Uint8Array => Buffer.concat([Uint8Array.of(name.length), Buffer.from(name)]);

/** Sends the bytes in pieces of one, and returns all that came back. */
async function talk(path: string, bytes: Uint8Array): Promise<Buffer> {
  const socket = connect(path);
  for (const byte of bytes) socket.write(Uint8Array.of(byte));
  return await buffer(socket);
}
const [GREETED, CONNECTED] = ["0500", "05000001000000000000"];

it("a tunnel leads to the judged address under the judged name, also when bytes come one by one", async () => {
  await using tunnel = await open({ addresses: ["127.0.0.2", "127.0.0.1"] });
  expect(statSync(dirname(tunnel.path)).mode & 0o777).toBe(0o700);
  const answer = await talk(tunnel.path, request(3, named("judged.test")));
  expect(answer.toString("latin1")).toBe(
    `${Buffer.from(GREETED + CONNECTED, "hex").toString("latin1")}${"x".repeat(1_000)}`,
  );
  expect(tunnel.connections).toBe(1);
});

it.each<[title: string, make: () => Uint8Array, answer: string]>([
  ["another name", () => request(3, named("other.test")), "05000502"],
  ["another port", () => request(3, named("judged.test"), 1), "05000502"],
  ["an address", () => request(1, Uint8Array.of(127, 0, 0, 1)), "05000502"],
  ["an IPv6 address", () => request(4, new Uint8Array(16)), "05000502"],
  ["another command", () => request(3, named("judged.test")).with(4, 2), "05000502"],
  ["a method with a password", () => Uint8Array.of(5, 1, 2), "05ff"],
  ["another version", () => Uint8Array.of(4, 1, 0, 80, 127, 0, 0, 1, 0), "05ff"],
  ["an unknown kind of host", () => request(9, Uint8Array.of(1)), "0500"],
])("a tunnel refuses %s", async (_title, make, answer) => {
  const before = connections;
  await using tunnel = await open();
  const bytes = make();
  expect((await talk(tunnel.path, bytes)).toString("hex")).toMatch(new RegExp(`^${answer}`));
  expect(connections).toBe(before);
});

it("a tunnel to an address takes its other forms", async () => {
  await using tunnel = await open({ host: "[::ffff:7f00:1]" });
  const answer = await talk(tunnel.path, request(1, Uint8Array.of(127, 0, 0, 1)));
  expect(answer.toString("hex")).toMatch(new RegExp(`^${GREETED}${CONNECTED}`));
});

it("a tunnel cuts a server that sends too much, counts all connections, and leaves nothing", async () => {
  const tunnel = await open({ maxBytes: 1_500 });
  for (let at = 0; at < 2; at++) await talk(tunnel.path, request(3, named("judged.test")));
  expect(exceeded).toBe(1);
  const folder = dirname(tunnel.path);
  await tunnel[Symbol.asyncDispose]();
  expect(existsSync(folder)).toBe(false);
});
