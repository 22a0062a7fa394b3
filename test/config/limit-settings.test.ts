import { describe, expect, it } from "@jest/globals";
import { loadSettings } from "#config/load.ts";

describe("the limits of unattended runs", () => {
  it("have defaults in steps, tokens and dollars", async () => {
    const { settings } = await loadSettings({ env: {} });
    expect(settings.limits).toMatchObject({ unattendedSteps: 100, unattendedTokens: 2_000_000, unattendedUsd: 5 });
  });

  it("can be set, and the budget can be removed", async () => {
    const env = { GOALD_LIMITS_UNATTENDED_TOKENS: "50000", GOALD_LIMITS_UNATTENDED_USD: "none" };
    const { settings } = await loadSettings({ env });
    expect(settings.limits).toMatchObject({ unattendedTokens: 50_000, unattendedUsd: null });
    expect((await loadSettings({ env: { GOALD_LIMITS_UNATTENDED_USD: "0.25" } })).settings.limits.unattendedUsd).toBe(
      0.25,
    );
  });

  it.each([
    ["GOALD_LIMITS_UNATTENDED_TOKENS", "many"],
    ["GOALD_LIMITS_UNATTENDED_TOKENS", "10"],
    ["GOALD_LIMITS_UNATTENDED_USD", "-1"],
    ["GOALD_LIMITS_UNATTENDED_USD", "5 dollars"],
  ])("are refused by name when the value is invalid: %s=%s", async (name, value) => {
    await expect(loadSettings({ env: { [name]: value } })).rejects.toMatchObject({
      code: "GOALD_CONFIG",
      message: expect.stringContaining(name),
    });
  });
});
