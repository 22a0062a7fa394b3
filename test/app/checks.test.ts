import { describe, expect, it } from "@jest/globals";
import { createChecks } from "#app/checks.ts";
import { loadRegistry } from "#commands/registry.ts";
import type { ServiceState } from "#core/services.ts";

async function checkForm(form: "json" | "tools" | "react" | "code", cells: ServiceState) {
  const registry = await loadRegistry(["commands"], { cells });
  return createChecks(() => registry).checkSettings({ form });
}

describe("the form of an agent", () => {
  it.each(["react", "code"] as const)("is refused when it is %s and no code can run, with what to do", async (form) => {
    await expect(checkForm(form, { ready: false, toDo: "Set sandbox." })).rejects.toMatchObject({
      code: "GOALD_USAGE",
      message: `The form ${form} runs code, and code cannot run here.`,
      hint: "Set sandbox. Or choose another form: --form json or --form tools.",
    });
  });

  it("is accepted when code can run, and json and tools always (control)", async () => {
    const off = { ready: false, toDo: "Set sandbox." } as const;
    expect(await checkForm("react", { ready: true })).toEqual({ form: "react" });
    expect(await checkForm("code", { ready: true })).toEqual({ form: "code" });
    expect(await checkForm("json", off)).toEqual({ form: "json" });
    expect(await checkForm("tools", off)).toEqual({ form: "tools" });
  });
});
