/** list.ts -- lists the commands of a home for people and programs: state, arguments, effect, risk, origin. */
import { dirname } from "node:path";
import type { CommandGroup } from "#core/agent-settings.ts";
import type { Effect } from "#core/call.ts";
import { followReference, typesOf } from "#core/command.ts";
import type { ServiceName } from "#core/services.ts";
import { describeRisk } from "./describe.ts";
import type { PythonModule } from "./python-modules.ts";
import type { RegisteredCommand, Registry } from "./registry.ts";

/** JSON element of `goald commands --json`. */
export interface CommandLine {
  readonly name: string;
  readonly label: string;
  readonly summary: string;
  /** The profile that offers it, as in `--commands files,web`. */
  readonly group: CommandGroup;
  readonly state: "ready" | "not-set-up";
  /** False: prompts do not list it, and method search finds it. */
  readonly listed: boolean;
  /** One sentence per missing step; empty when the command is ready. */
  readonly toDo: readonly string[];
  readonly args: readonly {
    readonly name: string;
    /** Such as `string` or `string or null`; `any` when the schema names none. */
    readonly type: string;
    readonly required: boolean;
    readonly description: string | null;
  }[];
  /** Decides what follows after a crash. */
  readonly effect: Effect;
  /** In the terms of the policy mode `risky`. */
  readonly risk: string;
  readonly needs: readonly ServiceName[];
  readonly timeoutMs: number;
  readonly origin: "shipped" | "home";
  readonly file: string;
}

/** Commands in `shippedFolder` have the origin "shipped", even when a checkout is the home. */
export function listCommands(registry: Registry, shippedFolder: string): readonly CommandLine[] {
  const ready = registry.all.map((command) => ({ command, toDo: [] }));
  const shown = [...ready, ...registry.unavailable].filter(({ command }) => command.isInternal !== true);
  return shown.map(({ command, toDo }) => {
    const file = registry.fileOf(command.name) ?? "";
    return buildCommandLine(command, toDo, file, dirname(file) === shippedFolder ? "shipped" : "home");
  });
}

function buildCommandLine(
  command: RegisteredCommand,
  toDo: readonly string[],
  file: string,
  origin: CommandLine["origin"],
): CommandLine {
  const { name, label, summary, group, listed, args, effect, needs, timeoutMs } = command;
  return {
    name,
    label,
    summary,
    group,
    state: toDo.length === 0 ? "ready" : "not-set-up",
    listed: listed !== false,
    toDo,
    args: Object.entries(args.properties).map(([argument, schema]) => ({
      name: argument,
      type: typesOf(followReference(schema, args)).join(" or ") || "any",
      required: (args.required ?? []).includes(argument),
      description: followReference(schema, args).description ?? null,
    })),
    effect,
    risk: describeRisk(command),
    needs,
    timeoutMs,
    origin,
    file,
  };
}

/** JSON element of `methods` in `goald commands --json`. */
export interface MethodLine {
  readonly name: string;
  readonly signature: string;
  readonly doc: string;
  readonly file: string;
}

export const listMethods = (modules: readonly PythonModule[]): readonly MethodLine[] =>
  modules.flatMap(({ path, functions }) =>
    functions.map(({ name, signature, doc }) => ({ name, signature, doc, file: path })),
  );

/** Renders one command as text for people. */
export function describeCommand(line: CommandLine): string {
  const args = line.args.map(
    ({ name, type, required, description }) =>
      `  ${name}: ${type}${required ? "" : ", optional"}${description === null ? "" : `. ${description}`}`,
  );
  return [
    `${line.name} (${line.label}): ${line.summary}`,
    ...(line.listed ? [] : ["Not listed in prompts: method_search finds it."]),
    ...(line.toDo.length > 0 ? [`Not set up, so hidden from models. ${line.toDo.join(" ")}`] : []),
    args.length > 0 ? `Arguments:\n${args.join("\n")}` : "It takes no arguments.",
    `After a crash: ${CRASH_SENTENCES[line.effect]}`,
    `Group: ${line.group}. Risk: ${line.risk}. Timeout: ${Math.round(line.timeoutMs / 1000)} s.`,
    `From: ${line.file}`,
  ].join("\n");
}

const CRASH_SENTENCES: Readonly<Record<Effect, string>> = {
  pure: "runs again, since it changes nothing.",
  idempotent: "runs again, since a second run has the same result.",
  transactional: "runs again, since its effect is committed together with its result.",
  reconcilable: "checks whether its effect happened, and runs again only if it did not.",
  "at-most-once": "never runs again; the agent sees that the outcome is unknown.",
};
