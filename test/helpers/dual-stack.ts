/** dual-stack.ts -- a web server on both loopback addresses, under one port, that counts connections. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";

export interface DualStack extends AsyncDisposable {
  readonly port: number;
  /** False on machines with IPv4 alone. */
  readonly hasIPv6: boolean;
  /** Number of opened connections, failed TLS handshakes included. */
  readonly connections: number;
}

export async function listenOnBoth(listener: RequestListener): Promise<DualStack> {
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

function open(servers: readonly Server[], port: number): DualStack {
  let connections = 0;
  for (const server of servers) server.on("connection", () => connections++);
  return {
    port,
    hasIPv6: servers.length === 2,
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
