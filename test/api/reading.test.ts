import { connectHost } from "#api/client.ts";
import { describeReading } from "../contracts/reading.ts";
import { readingOf } from "../helpers/host-reading.ts";
import { serve } from "../helpers/local-server.ts";

describeReading("a store", async (world, host) => ({
  reading: await readingOf(world, host),
  [Symbol.asyncDispose]: async () => undefined,
}));

describeReading("a host, over its socket", async (world, host) => {
  const api = await serve(host.control, { reading: await readingOf(world, host) });
  return { reading: connectHost(api.server.socket), [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() };
});
