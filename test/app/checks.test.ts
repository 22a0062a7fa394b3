import { describe, expect, it } from "@jest/globals";
import { createChecks } from "#app/host.ts";
import { loadRegistry } from "#commands/registry.ts";
import type { ServiceState } from "#core/services.ts";

async function checkForm(form: "json" | "tools" | "react" | "code", cells: ServiceState) {
  const registry = await loadRegistry(["commands"], { cells });
  return createChecks(() => registry).checkSettings({ form });
}

describe("the plan of an agent", () => {
  const check = async (
    settings: Parameters<ReturnType<typeof createChecks>["checkSettings"]>[0],
    before?: typeof settings,
  ) => {
    const registry = await loadRegistry(["commands"], { plan: { ready: true } });
    return createChecks(() => registry).checkSettings(settings, before);
  };

  it.each([
    ["a new agent", { plan: "required", commands: "files" }, undefined, "--plan required"],
    ["the form plan", { form: "plan", commands: "web , files" }, undefined, "The form plan"],
    ["a profile with half of them", { plan: "required", commands: "add_task,files" }, undefined, "--plan required"],
    ["a profile that comes later", { commands: "files" }, { plan: "required", commands: null }, "--plan required"],
    ["a plan that comes later", { plan: "required" }, { commands: "files" }, "--plan required"],
  ] as const)("is refused without its commands, for %s", async (_title, settings, before, asked) => {
    await expect(check(settings, before)).rejects.toMatchObject({
      code: "GOALD_USAGE",
      message: expect.stringMatching(new RegExp(`^${asked} needs add_task and modify_task, and --commands .*files`)),
      hint: expect.stringMatching(/^Add the group plan: --commands .*files.*,plan$/),
    });
  });

  it.each([
    ["all commands", { plan: "required" }, undefined],
    ["the group", { plan: "required", commands: "files,plan" }, undefined],
    ["both names", { form: "plan", commands: "add_task,modify_task" }, undefined],
    ["a plan that nobody requires", { commands: "files" }, { plan: "free", form: "json" }],
    ["a change of something else", { stepLimit: 5 }, { plan: "required", commands: null }],
  ] as const)("is accepted with %s (control)", async (_title, settings, before) => {
    expect(await check(settings, before)).toEqual(settings);
  });
});

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
