import { expect, it } from "@jest/globals";
import { describeLocalApi } from "../contracts/local-api.ts";
import { makeWorld } from "../helpers/host.ts";
import { readingOf } from "../helpers/host-reading.ts";
import { serve } from "../helpers/local-server.ts";
import { done } from "../helpers/loop.ts";

describeLocalApi("a host with a real supervisor", async () => {
  const world = await makeWorld({ script: () => done() });
  const host = world.begin();
  return {
    control: host.control,
    reading: await readingOf(world, host),
    makeAgent: async (name) => (await world.create(name, { approve: "always", background: false })).id,
    lengthen: async (id) => {
      await host.control.resume(id, {});
      await host.quiet();
      await host.control.pause(id, "For the test.");
    },
    [Symbol.asyncDispose]: () => host.supervisor.drain(0),
  };
});

it.each(["..%2f..%2f.env", "%2Fetc%2Fpasswd", "a%00b"])(
  "the path %s is a refused request, and no fault of the host",
  async (path) => {
    const world = await makeWorld({ script: () => done() });
    const host = world.begin();
    await world.create("t", { approve: "always", background: false });
    await using api = await serve(host.control, { reading: await readingOf(world, host) });
    const { status, body } = await api.ask("GET", `/v1/agents/t/files/${path}`);
    expect([status, body]).toMatchObject([400, { error: { code: "GOALD_PATH_REFUSED" } }]);
    expect(api.problems).toEqual([]);
    await host.supervisor.drain(0);
  },
);
