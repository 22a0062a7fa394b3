/** checks.ts -- the checks of what a person asks for an agent. */
import type { Registry } from "#commands/registry.ts";
import { validateAgent } from "#config/agent-spec.ts";
import { type AgentSettings, checkProfile, offersPlan, type ReplyForm } from "#core/agent-settings.ts";
import { isActionForm, RUN_CODE } from "#core/command-names.ts";
import { GoaldError } from "#core/errors.ts";
import type { HostControlParts } from "#host/host-control.ts";

type Checks = Pick<HostControlParts, "checkAgent" | "checkSettings">;

/** `registry` returns the commands of the moment. */
export const createChecks = (registry: () => Pick<Registry, "all" | "unavailable">): Checks => ({
  checkAgent: validateAgent,
  checkSettings(settings, before = {}) {
    const { commands, form } = settings;
    if (form !== undefined) checkForm(form, registry());
    const { all, unavailable } = registry();
    const known = [...all, ...unavailable.map(({ command }) => command)];
    const checked = commands === undefined ? settings : { ...settings, commands: checkProfile(commands, known) };
    checkPlan({ ...before, ...checked });
    return checked;
  },
});

/** Throws GOALD_USAGE for a plan that the agent could not make, because its profile leaves the commands out. */
function checkPlan({ form, plan, commands = null }: Partial<AgentSettings>): void {
  if ((form !== "plan" && plan !== "required") || offersPlan(commands)) return;
  const asked = form === "plan" ? "The form plan" : "--plan required";
  throw new GoaldError(
    "GOALD_USAGE",
    `${asked} needs add_task and modify_task, and --commands ${commands} leaves them out.`,
    {
      hint: `Add the group plan: --commands ${commands},plan`,
    },
  );
}

/** Throws GOALD_USAGE for a form whose replies are code when code cannot run. */
function checkForm(form: ReplyForm, { all, unavailable }: Pick<Registry, "all" | "unavailable">): void {
  if (!isActionForm(form) || all.some(({ name }) => name === RUN_CODE)) return;
  const { toDo = [] } = unavailable.find(({ command }) => command.name === RUN_CODE) ?? {};
  throw new GoaldError("GOALD_USAGE", `The form ${form} runs code, and code cannot run here.`, {
    hint: [...toDo, "Or choose another form: --form json or --form tools."].join(" "),
  });
}
