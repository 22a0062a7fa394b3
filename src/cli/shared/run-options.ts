/** run-options.ts -- the options that `goald run` and `goald resume` share. */
import { InvalidArgumentError } from "commander";
import { type ApprovalMode, type PlanMode, REPLY_FORMS, type ReplyForm } from "#core/agent-settings.ts";
import { flag, positiveInteger, text, value } from "../option.ts";
import type { VerbOption } from "../verb.ts";

const formOption: VerbOption<ReplyForm> = {
  flags: "--form <form>",
  about: "let the model answer in this form (default: setting form)",
  choices: REPLY_FORMS,
};

const planOption: VerbOption<PlanMode> = {
  flags: "--plan <mode>",
  about: "leave it free to make a plan, or make one required (default: setting plan)",
  choices: ["free", "required"],
};

export const RUN_OPTIONS = {
  continuous: flag("-c, --continuous", "run every command without asking, as --approve never does"),
  continuousLimit: value(
    "-l, --continuous-limit <steps>",
    "pause after this many steps; needs --continuous",
    positiveInteger,
  ),
  maxSteps: value("--max-steps <steps>", "pause after this many more steps, or none", orNone(positiveInteger)),
  maxTokens: value(
    "--max-tokens <tokens>",
    "pause after this many more tokens, in and out, or none",
    orNone(positiveInteger),
  ),
  budget: value("--budget <usd>", "pause after this many more US dollars, or none", orNone(dollars)),
  maxTime: value(
    "--max-time <time>",
    "pause after this time, such as 30s, 90m, 8h or 2d, or none",
    orNone(milliseconds),
  ),
  model: text("--model <name>", "use this model (default: setting models.smart)"),
  form: formOption,
  plan: planOption,
  commands: text("--commands <list>", "offer these groups and names of commands only, such as files,web, or all"),
  record: text("--record <file>", "record all input from outside into this file, for goald replay"),
} as const;

export const approveOption = (byDefault: string): VerbOption<ApprovalMode> => ({
  flags: "--approve <mode>",
  about: `ask before every command, before risky ones, or never (default: ${byDefault})`,
  choices: ["never", "risky", "always"],
});

/** Returns Infinity for `none`, because the parser would turn null into an empty text. */
function orNone(parse: (given: string) => number): (given: string) => number {
  return (given) => (given === "none" ? Number.POSITIVE_INFINITY : parse(given));
}

function dollars(given: string): number {
  const usd = /^\d{1,7}(?:\.\d{1,6})?$/.test(given) ? Number(given) : 0;
  if (usd > 0) return usd;
  throw new InvalidArgumentError("Expected US dollars, more than 0, such as 5 or 0.50, or none.");
}

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const LONGEST_MS = 3_650 * UNIT_MS.d;

function milliseconds(given: string): number {
  const [, count = "", unit = ""] = /^([1-9]\d{0,8})([smhd])$/.exec(given) ?? [];
  const ms = Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
  if (count !== "" && ms <= LONGEST_MS) return ms;
  throw new InvalidArgumentError(
    "Expected a whole number and a unit, such as 30s, 90m, 8h or 2d, up to 3650d, or none.",
  );
}
