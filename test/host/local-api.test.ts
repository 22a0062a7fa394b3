import { describeLocalApi } from "../contracts/local-api.ts";
import { makeWorld } from "../helpers/host.ts";
import { readingOf } from "../helpers/host-reading.ts";
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
