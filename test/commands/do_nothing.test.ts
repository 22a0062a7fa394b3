import { expect, it } from "@jest/globals";
import doNothing from "../../commands/do_nothing.ts";
import { call, makeDesk } from "./context.ts";

it("do_nothing changes nothing and reports so", async () => {
  await using desk = await makeDesk();
  expect(await call(doNothing, {}, desk.context)).toMatchObject({
    status: "ok",
    text: "Nothing was done.",
    artifacts: [],
  });
  expect(desk.changes).toEqual([]);
});
