/** list.ts -- the whole catalogue for people and programs: state, arguments, effect, risk, origin of each command. */
import { dirname } from "node:path";
import type { Effect } from "#core/call.ts";
import type { PropertySchema } from "#core/command.ts";
import type { ServiceName } from "#core/services.ts";
import { riskOf } from "./describe.ts";
import type { RegisteredCommand, Registry } from "./registry.ts";

/** Plain JSON: what `goald commands --json` prints. */
export interface CommandLine {
  readonly name: string;
  readonly label: string;
  readonly summary: string;
  readonly state: "ready" | "not-set-up";
  /** What makes it ready, a sentence each; empty when it is. */
  readonly toDo: readonly string[];
  readonly args: readonly {
    readonly name: string;
    readonly type: PropertySchema["type"];
    readonly required: boolean;
    readonly description: string | null;
  }[];
  /** What follows when a crash cut it off. */
  readonly effect: Effect;
  /** In the words of the policy's `risky` mode. */
  readonly risk: string;
  readonly needs: readonly ServiceName[];
  readonly timeoutMs: number;
  readonly origin: "shipped" | "home";
  readonly file: string;
}

/** `shippedFolder`: a checkout may be a person's home, and its commands are goald's all the same. */
export function listCommands(registry: Registry, shippedFolder: string): readonly CommandLine[] {
  const ready = registry.all.map((command) => ({ command, toDo: [] }));
  return [...ready, ...registry.unavailable].map(({ command, toDo }) => {
    const file = registry.fileOf(command.name) ?? "";
    return lineOf(command, toDo, file, dirname(file) === shippedFolder ? "shipped" : "home");
  });
}

function lineOf(
  command: RegisteredCommand,
  toDo: readonly string[],
  file: string,
  origin: CommandLine["origin"],
): CommandLine {
  const { name, label, summary, args, effect, needs, timeoutMs } = command;
  return {
    name,
    label,
    summary,
    state: toDo.length === 0 ? "ready" : "not-set-up",
    toDo,
    args: Object.entries(args.properties).map(([argument, { type, description }]) => ({
      name: argument,
      type,
      required: (args.required ?? []).includes(argument),
      description: description ?? null,
    })),
    effect,
    risk: riskOf(command),
    needs,
    timeoutMs,
    origin,
    file,
  };
}

/** Everything about one, in words. */
export function describeCommand(line: CommandLine): string {
  const args = line.args.map(
    ({ name, type, required, description }) =>
      `  ${name}: ${type}${required ? "" : ", optional"}${description === null ? "" : `. ${description}`}`,
  );
  return [
    `${line.name} (${line.label}): ${line.summary}`,
    ...(line.toDo.length > 0 ? [`Not set up, so hidden from models. ${line.toDo.join(" ")}`] : []),
    args.length > 0 ? `Arguments:\n${args.join("\n")}` : "It takes no arguments.",
    `After a crash: ${CRASH_SENTENCES[line.effect]}`,
    `Risk: ${line.risk}. It may take ${Math.round(line.timeoutMs / 1000)} s.`,
    `From: ${line.file}`,
  ].join("\n");
}

const CRASH_SENTENCES: Readonly<Record<Effect, string>> = {
  pure: "it is run again, because it changes nothing.",
  idempotent: "it is run again, because twice has the same effect as once.",
  transactional: "it is run again, because it acts only when its result is committed.",
  reconcilable: "goald checks whether it took effect, and runs it again only if it did not.",
  "at-most-once": "it is never run again; the agent reads that the outcome is unknown.",
};
