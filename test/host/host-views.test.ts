import { describe, expect, it } from "@jest/globals";
import type { AgentRow, Store } from "#core/ports/store.ts";
import { createHostViews } from "#host/host-views.ts";
import type { Supervisor } from "#host/supervisor.ts";
import { AT } from "../helpers/events.ts";

const row: AgentRow = {
  id: "foo",
  name: "Foo",
  folder: "foo",
  parent: null,
  head: 5,
  epoch: 1,
  createdAt: AT,
  updatedAt: AT,
  wakeAt: null,
};

describe("an agent whose log cannot be read", () => {
  it("is damaged and not also stalled while its host retries", async () => {
    const store: Pick<Store, "agents" | "load"> = {
      agents: async () => [row],
      load: async () => Promise.reject(new Error("It cannot be read.")),
    };
    const supervisor = { runners: new Map([["foo", {}]]), isolation: { reasonFor: () => null } };
    const views = createHostViews({
      store: store as Store,
      supervisor: supervisor as unknown as Supervisor,
      clock: { now: () => new Date(Date.parse(AT) + 3_600_000) } as Parameters<typeof createHostViews>[0]["clock"],
      workspaceFolder: "/w",
      stallAfterMs: () => 1_000,
    });
    expect(await views.agents()).toMatchObject([
      { id: "foo", name: "Foo", state: "damaged", reason: "It cannot be read.", stalledMs: null },
    ]);
  });
});
