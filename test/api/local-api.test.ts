import { describeLocalApi } from "../contracts/local-api.ts";
import { makeFakeControl } from "../helpers/fake-control.ts";

describeLocalApi("a host in memory", async () => {
  const control = makeFakeControl();
  return {
    control,
    reading: control,
    makeAgent: async (name) => control.add(name, 1),
    lengthen: async (id) => control.append(id, 1),
    [Symbol.asyncDispose]: async () => undefined,
  };
});
