/**
 * tunnel.ts -- connects a process that has no network to one server, through a Unix socket that speaks SOCKS 5.
 *
 * The server's addresses are judged before. A request for any other server is refused, so the process cannot choose
 * where it connects. Only this user may enter the folder of the socket.
 */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { canonicalizeAddress } from "./public-address.ts";

export interface TunnelTarget {
  /** As in a URL: an IPv6 address has brackets. */
  readonly host: string;
  readonly port: number;
  /** The judged addresses of the host, in the order in which they are tried. */
  readonly addresses: readonly string[];
  /** Maximum of bytes from the server, over all connections. */
  readonly maxBytes: number;
  /** Called when the server sends more. The connection is cut then. */
  readonly onExceeded: () => void;
}
export type Tunnel = Awaited<ReturnType<typeof openTunnel>>;

const CONNECT_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 16;
/** RFC 1928. */
const VERSION = 5;
const NO_AUTHENTICATION = 0;
const NO_METHOD = 0xff;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;
const ANSWERS = { connected: 0, notAllowed: 2, unreachable: 4 } as const;

export async function openTunnel(target: TunnelTarget) {
  const folder = await mkdtemp(join(tmpdir(), "goald-tunnel-"));
  const path = join(folder, "s");
  const clients = new Set<Socket>();
  let connections = 0;
  let received = 0;
  async function* count(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of source) {
      received += piece.length;
      if (received > target.maxBytes) return target.onExceeded();
      yield piece;
    }
  }
  const server = createServer((client) => {
    connections++;
    clients.add(client);
    client.on("close", () => clients.delete(client));
    // A connection that breaks is reported by the process that uses it.
    serveClient(client, target, count).catch(() => client.destroy());
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(path);
  await once(server, "listening");
  return {
    /** Absolute path of the socket. */
    path,
    /** Number of connections to the socket so far. */
    get connections(): number {
      return connections;
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      server.close();
      for (const client of clients) client.destroy();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

type CountBytes = (source: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;

async function serveClient(client: Socket, target: TunnelTarget, count: CountBytes): Promise<void> {
  const [version, methodCount = 0] = await readBytes(client, 2);
  const methods = await readBytes(client, methodCount);
  if (version !== VERSION || !methods.includes(NO_AUTHENTICATION)) {
    client.end(Uint8Array.of(VERSION, NO_METHOD));
    return;
  }
  client.write(Uint8Array.of(VERSION, NO_AUTHENTICATION));
  const [, command, , type] = await readBytes(client, 4);
  const host = await readHost(client, type);
  const port = (await readBytes(client, 2)).readUInt16BE();
  const answer = (code: number): Uint8Array => Uint8Array.of(VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0);
  if (command !== CONNECT || port !== target.port || !isHost(host, target)) {
    client.end(answer(ANSWERS.notAllowed));
    return;
  }
  const server = await connectToFirst(target);
  if (!server) {
    client.end(answer(ANSWERS.unreachable));
    return;
  }
  client.write(answer(ANSWERS.connected));
  await pipeline(client, server, count, client);
}

async function readHost(client: Socket, type: number | undefined): Promise<string> {
  if (type === IPV4) return (await readBytes(client, 4)).join(".");
  if (type === IPV6) return (await readBytes(client, 16)).toString("hex").replace(/(?<=.)(?=(?:.{4})+$)/g, ":");
  if (type !== NAME) throw new Error("Expected an address or a name.");
  const [length = 0] = await readBytes(client, 1);
  return (await readBytes(client, length)).toString("latin1");
}

function isHost(host: string, target: TunnelTarget): boolean {
  const wanted = target.host.replace(/^\[|\]$/g, "");
  const address = canonicalizeAddress(wanted);
  return host === wanted || (address !== undefined && canonicalizeAddress(host) === address);
}

async function connectToFirst({ addresses, port }: TunnelTarget): Promise<Socket | undefined> {
  for (const host of addresses) {
    const socket = connect({ host, port });
    try {
      await once(socket, "connect", { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
      return socket;
    } catch {
      socket.destroy();
    }
  }
  return undefined;
}

/** Rejects when the client ends before. */
async function readBytes(client: Socket, count: number): Promise<Buffer> {
  if (count === 0) return Buffer.alloc(0);
  for (;;) {
    const bytes = client.read(count) as Buffer | null;
    if (bytes?.length === count) return bytes;
    if (bytes || client.readableEnded || client.destroyed) throw new Error("The client ended.");
    await Promise.race([once(client, "readable"), once(client, "close")]);
  }
}
