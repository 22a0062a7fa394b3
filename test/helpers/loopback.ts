/** loopback.ts -- a bare HTTP server on loopback, and a list of arrivals that a test can wait for. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";

/** Listens on a free port, unless one is given. */
export async function listenOnLoopback(listener: RequestListener, wantedPort = 0) {
  const server = createServer(listener);
  let connections = 0;
  server.on("connection", () => connections++);
  await new Promise<void>((resolve) => server.listen(wantedPort, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  /** Closes every connection and stops listening. */
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    server,
    port,
    /** For example http://127.0.0.1:4000 */
    origin: `http://127.0.0.1:${port}`,
    /** Number of connections, with or without a request. */
    get connections() {
      return connections;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

export function listArrivals<T>() {
  const all: T[] = [];
  let next = Promise.withResolvers<void>();
  return {
    all: all as readonly T[],
    /** Returns the index of the arrival. */
    add: (arrival: T): number => {
      const index = all.push(arrival) - 1;
      next.resolve();
      next = Promise.withResolvers<void>();
      return index;
    },
    /** Resolves after `count` arrivals. */
    reach: async (count: number): Promise<void> => {
      while (all.length < count) await next.promise;
    },
  };
}

// A web server on both loopback addresses, under one port, that counts connections.

export async function listenOnBoth(listener: RequestListener) {
  for (let attempt = 1; ; attempt++) {
    const four = await listen(listener, 0, "127.0.0.1");
    const { port } = four.address() as AddressInfo;
    try {
      return open([four, await listen(listener, port, "::1")], port);
    } catch (error) {
      if (/EADDRNOTAVAIL|EAFNOSUPPORT/.test(String(error))) return open([four], port);
      four.close();
      if (attempt === 5) throw error;
    }
  }
}

function open(servers: readonly Server[], port: number) {
  let connections = 0;
  for (const server of servers) server.on("connection", () => connections++);
  return {
    port,
    /** False on machines with IPv4 alone. */
    hasIPv6: servers.length === 2,
    /** Number of opened connections, failed TLS handshakes included. */
    get connections() {
      return connections;
    },
    [Symbol.asyncDispose]: async () => {
      for (const server of servers) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

function listen(listener: RequestListener, port: number, host: string): Promise<Server> {
  const server = createServer(listener);
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve(server));
  });
}

/** Returns a resolver for `names` alone. Each name has its answers in order, and the last one repeats. */
export function resolver(names: Readonly<Record<string, readonly (readonly string[])[]>>): {
  readonly lookup: LookupFunction;
  readonly asked: string[];
} {
  const asked: string[] = [];
  const lookup: LookupFunction = (host, options, callback) => {
    asked.push(host);
    const answers = names[host.toLowerCase()];
    const turn = Math.min(asked.filter((name) => name === host).length, answers?.length ?? 0) - 1;
    const found = (answers?.[turn] ?? []).map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    const [first] = found;
    setImmediate(() => {
      if (!first) callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: "ENOTFOUND" }), "");
      else if (options.all) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };
  return { lookup, asked };
}
