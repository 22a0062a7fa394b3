/** checks.ts -- the checks of what a person asks for an agent. */
import type { Registry } from "#commands/registry.ts";
import { validateAgent } from "#config/agent-spec.ts";
import { checkProfile } from "#core/command-profile.ts";
import type { HostControlParts } from "#host/host-control.ts";

type Checks = Pick<HostControlParts, "checkAgent" | "checkSettings">;

/** `registry` returns the commands of the moment. */
export const createChecks = (registry: () => Pick<Registry, "all" | "unavailable">): Checks => ({
  checkAgent: validateAgent,
  checkSettings(settings) {
    const { commands } = settings;
    if (commands === undefined) return settings;
    const { all, unavailable } = registry();
    return { ...settings, commands: checkProfile(commands, [...all, ...unavailable.map(({ command }) => command)]) };
  },
});
