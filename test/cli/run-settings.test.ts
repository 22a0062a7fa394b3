import { describe, expect, it } from "@jest/globals";
import type { CliContext } from "#cli/context.ts";
import { newSettings, resumedSettings } from "#cli/run-options.ts";
import { type AgentState, initialState } from "#core/state.ts";
import type { ChildAccount } from "#core/subagent.ts";

const NOW = new Date("2026-11-20T10:00:00Z");
const context = {
  home: { root: "/home/goald", chosenBy: "default" },
  settings: { limits: { unattendedSteps: 100 } },
} as CliContext;
const ANN: ChildAccount = {
  name: "Ann",
  task: "t",
  callId: "c1",
  tasksSent: 1,
  isWorking: false,
  isPaused: false,
  isStopping: false,
  limits: { stepLimit: null, tokenLimit: null, budgetUsd: null, deadline: null },
  spent: { steps: 40, tokens: 0, usd: 0 },
};

/** The agent took 60 of its 100 steps; its sub-agent took the other 40. */
const together: AgentState = {
  ...initialState,
  name: "T",
  step: 60,
  settings: { ...initialState.settings, stepLimit: 100 },
  paused: { code: "step-limit", reason: "r" },
  children: { "t-ann": ANN },
};
const NO_TOKENS: AgentState = {
  ...initialState,
  settings: { ...initialState.settings, tokenLimit: 10 },
  lost: { tokens: 10, usd: 0 },
};
const resumed = (options: Parameters<typeof resumedSettings>[3]) =>
  resumedSettings(together, ["resume", "t"], context, options, NOW);

describe("resuming an agent whose sub-agents took steps too", () => {
  it("raises their shared limit like the limit of one agent", () => {
    expect(resumed({})).toEqual({ stepLimit: 200 });
  });

  it("adds the given number of steps to those that they took together", () => {
    expect(resumed({ maxSteps: 5 })).toEqual({ stepLimit: 105 });
    expect(resumed({ continuous: true, continuousLimit: 7 })).toEqual({ approve: "never", stepLimit: 107 });
  });
});

describe("the plan of an agent", () => {
  const plan = async (options: Parameters<typeof newSettings>[1]) => {
    const settings = { window: { batch: 0 }, agents: { form: "json", commands: null }, limits: {} };
    const given = { ...context, settings } as unknown as CliContext;
    const { plan } = await newSettings(given, options, NOW, { approve: "always", unattended: false });
    return plan;
  };

  it("is that of --plan", async () => {
    expect(await plan({})).toBeUndefined();
    expect(await plan({ plan: "required" })).toBe("required");
  });

  it("can change when it is resumed, and else stays", () => {
    expect(resumed({ plan: "required" })).toEqual({ stepLimit: 200, plan: "required" });
    expect(resumed({})).toEqual({ stepLimit: 200 });
  });
});

describe("resuming an agent that may spend no more", () => {
  it("is refused with calls to copy and paste", () => {
    const refused = () => resumedSettings(NO_TOKENS, ["resume", "t"], context, {}, NOW);
    expect(refused).toThrow("Allow more and go on: goald resume t --max-tokens 1000000");
    const next = ["run", "--continue", "t", "-g", '"…"'];
    expect(() => resumedSettings(NO_TOKENS, next, context, {}, NOW)).toThrow(
      'Allow more and go on: goald run --continue t -g "…" --max-tokens 1000000',
    );
  });
});
