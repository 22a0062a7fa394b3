/** loopback.ts -- a bare HTTP server on loopback, and a list of arrivals that a test can wait for. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Loopback extends AsyncDisposable {
  readonly server: Server;
  readonly port: number;
  /** For example http://127.0.0.1:4000 */
  readonly origin: string;
  /** Number of connections, with or without a request. */
  readonly connections: number;
  /** Closes every connection and stops listening. */
  close(): Promise<void>;
}

/** Listens on a free port, unless one is given. */
export async function listenOnLoopback(listener: RequestListener, wantedPort = 0): Promise<Loopback> {
  const server = createServer(listener);
  let connections = 0;
  server.on("connection", () => connections++);
  await new Promise<void>((resolve) => server.listen(wantedPort, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    server,
    port,
    origin: `http://127.0.0.1:${port}`,
    get connections() {
      return connections;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

export interface Arrivals<T> {
  readonly all: readonly T[];
  /** Returns the index of the arrival. */
  add(arrival: T): number;
  /** Resolves after `count` arrivals. */
  reach(count: number): Promise<void>;
}

export function listArrivals<T>(): Arrivals<T> {
  const all: T[] = [];
  let next = Promise.withResolvers<void>();
  return {
    all,
    add: (arrival) => {
      const index = all.push(arrival) - 1;
      next.resolve();
      next = Promise.withResolvers<void>();
      return index;
    },
    reach: async (count) => {
      while (all.length < count) await next.promise;
    },
  };
}
