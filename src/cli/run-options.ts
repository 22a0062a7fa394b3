/** run-options.ts -- the options that `goald run`, `resume` and `test` share, and what they mean for an agent. */
import { resolve } from "node:path";
import { InvalidArgumentError } from "commander";
import { isCharged } from "#app/catalogue.ts";
import { MAX_CHECK_BYTES } from "#config/agent-spec.ts";
import { loadSettings, type SettingFlags } from "#config/load-settings.ts";
import { readTextFile } from "#config/private-file.ts";
import { type AgentSettings, type ApprovalMode, type GivenSettings, REPLY_FORMS } from "#core/agent-settings.ts";
import type { GoaldError } from "#core/errors.ts";
import type { GoalCheck } from "#core/goal-check.ts";
import { limitReached, limitsFrom, spentOf } from "#core/limits.ts";
import { type AgentState, initialState } from "#core/state.ts";
import { type CliContext, callsHere } from "./context.ts";
import { flag, type OptionValues, text, usageError, type VerbOption, value, values, wholeNumber } from "./verb.ts";

/** Throws an Error for a text that is neither an amount nor `none`, which is Infinity. */
export const readBudget = orNone(dollars);
const countOrNone = orNone(wholeNumber("a whole number from 1, or none"));

export const RUN_OPTIONS = {
  continuous: flag("-c, --continuous", "run every command without asking, as --approve never does"),
  continuousLimit: value(
    "-l, --continuous-limit <steps>",
    "pause after this many steps; needs --continuous",
    wholeNumber("a whole number from 1"),
  ),
  maxSteps: value("--max-steps <steps>", "pause after this many more steps, or none", countOrNone),
  maxTokens: value("--max-tokens <tokens>", "pause after this many more tokens, in and out, or none", countOrNone),
  budget: value("--budget <usd>", "pause after this many more US dollars, or none", readBudget),
  maxTime: value(
    "--max-time <time>",
    "pause after this time, such as 30s, 90m, 8h or 2d, or none",
    orNone(milliseconds),
  ),
  model: text("--model <name>", "use this model (default of a new agent: setting models.smart)"),
  form: {
    flags: "--form <form>",
    about: "let the model answer in this form (default of a new agent: setting agents.form)",
    choices: REPLY_FORMS,
  },
  plan: {
    flags: "--plan <mode>",
    about: "leave it free to make a plan, or make one required (default of a new agent: free)",
    choices: ["free", "required"],
  },
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

/**
 * The flags of `goald run` and `goald resume`, which become an agent's approvals and limits. A limit counts from the
 * agent's current usage; Infinity means no limit. Unattended runs have default limits.
 */
export type GoOptions = OptionValues<Omit<typeof RUN_OPTIONS, "record">> & {
  readonly approve?: ApprovalMode;
  readonly detach?: boolean;
};

/** Throws GOALD_USAGE for flags that contradict each other. */
export function checkOptions({ continuous, continuousLimit, approve, maxSteps }: GoOptions): void {
  if (continuous && approve !== undefined && approve !== "never")
    throw usageError(`--continuous asks about no command, and --approve ${approve} does.`, "Leave one of the two out.");
  if (continuousLimit !== undefined && !continuous)
    throw usageError(
      "--continuous-limit goes with --continuous.",
      "Add --continuous, or leave the limit out: you are asked about each command.",
    );
  if (continuousLimit !== undefined && maxSteps !== undefined && maxSteps !== continuousLimit)
    throw usageError(
      `--continuous-limit ${continuousLimit} and --max-steps ${maxSteps === Number.POSITIVE_INFINITY ? "none" : maxSteps} say different things.`,
      "They mean the same: leave one of the two out.",
    );
}

/** Throws GOALD_USAGE when commands need approval and no terminal can ask for it. */
export function requireSomebody({ output }: CliContext, approve: ApprovalMode): void {
  if (approve === "never" || output.interactive) return;
  throw usageError(
    "There is no terminal to ask on before each command.",
    "Add --continuous to run every command without asking (with --continuous-limit N for another step limit), or --detach to run it in the background.",
  );
}

export const flagsOf = ({ model }: GoOptions): SettingFlags => (model === undefined ? {} : { "models.smart": model });

export const givenMode = ({ continuous, approve }: GoOptions): ApprovalMode | undefined =>
  continuous ? "never" : approve;

/** Background agents ask before outside commands by default. Other agents use the setting. */
export async function modeOf(
  { home, settings }: CliContext,
  options: GoOptions,
  background: boolean,
): Promise<ApprovalMode> {
  const given = givenMode(options);
  if (given !== undefined || !background) return given ?? settings.agents.approve;
  const { originOf } = await loadSettings({ home, env: process.env });
  return originOf("agents.approve").layer === "default" ? "risky" : settings.agents.approve;
}

/** Returns the settings of a new agent. `unattended`: no person watches it. */
export async function newSettings(
  context: CliContext,
  options: GoOptions,
  now: Date,
  { approve, unattended }: { readonly approve: ApprovalMode; readonly unattended: boolean },
): Promise<GivenSettings> {
  const defaults = unattended || approve === "never" ? await unattendedLimits(context, options) : {};
  const given = givenLimits(options, initialState, now);
  const { window, agents } = context.settings;
  const commands = options.commands ?? agents.commands;
  return {
    approve,
    stepLimit: null,
    ...defaults,
    ...given,
    ...modelOf(options),
    ...(window.batch > 0 ? { windowBatch: window.batch } : {}),
    ...(agents.form === "json" ? {} : { form: agents.form }),
    ...answersOf(options),
    ...(commands === null ? {} : { commands }),
  };
}

/**
 * Returns the changed settings of a resume: the given ones, and a new step limit if it is reached or with --continuous.
 * Throws GOALD_USAGE when another limit would stop the agent at once. Only a person may raise money, tokens and time.
 * `call`: the call of goald that continues the agent, for the error.
 */
export function resumedSettings(
  state: AgentState,
  call: readonly string[],
  context: CliContext,
  options: GoOptions,
  now: Date,
): Partial<AgentSettings> {
  const { settings } = context;
  const mode = givenMode(options);
  const { steps } = spentOf(state);
  const isReached = state.settings.stepLimit !== null && steps >= state.settings.stepLimit;
  const more = steps + settings.limits.unattendedSteps;
  const changes: Partial<AgentSettings> = {
    ...(mode === undefined ? {} : { approve: mode }),
    ...(isReached || options.continuous ? { stepLimit: more } : {}),
    ...givenLimits(options, state, now),
    ...modelOf(options),
    ...answersOf(options),
    ...(options.commands === undefined ? {} : { commands: options.commands }),
  };
  const limit = limitReached({ ...state, settings: { ...state.settings, ...changes } }, state.step + 1, now);
  if (!limit) return changes;
  throw usageError(callsHere(context.home, limit.reason.replaceAll("goald resume <agent>", `goald ${call.join(" ")}`)));
}

function givenLimits(options: GoOptions, state: AgentState, now: Date): Partial<AgentSettings> {
  const { maxSteps = options.continuousLimit, maxTokens, budget, maxTime } = options;
  return limitsFrom(state, { steps: maxSteps, tokens: maxTokens, usd: budget, timeMs: maxTime }, now);
}

/**
 * Default limits of an unattended run. Any given limit replaces the defaults for steps and tokens. A default budget
 * always applies if the model is known to cost money.
 */
async function unattendedLimits({ home, settings }: CliContext, options: GoOptions): Promise<Partial<AgentSettings>> {
  const { unattendedSteps, unattendedTokens, unattendedUsd } = settings.limits;
  const { maxSteps, continuousLimit, maxTokens, budget, maxTime } = options;
  const isBounded = [maxSteps, continuousLimit, maxTokens, budget, maxTime].some((limit) => limit !== undefined);
  const model = options.model ?? settings.models.smart;
  const costs = unattendedUsd !== null && (await isCharged(home, model, settings.openai.baseUrl));
  return {
    ...(isBounded ? {} : { stepLimit: unattendedSteps, tokenLimit: unattendedTokens }),
    ...(costs ? { budgetUsd: unattendedUsd } : {}),
  };
}

const answersOf = ({ form, plan }: GoOptions): Partial<AgentSettings> => ({
  ...(form === undefined ? {} : { form }),
  ...(plan === undefined ? {} : { plan }),
});
const modelOf = ({ model }: GoOptions): Partial<AgentSettings> => (model === undefined ? {} : { model });

const EXAMPLES = ["plan.md contains Conclusion", "plan.md min 400", "data.json matches schema.json", "python check.py"];
const FORMS = ["plan.md", ...EXAMPLES, "url https://example.org 200", "judge plan.md: Does it name three sources?"];

const quote = (form: string): string => JSON.stringify(form);
const HINT = `The forms are, with 2: before one for goal 2:\n${FORMS.map((form) => `  --check ${quote(form)}`).join("\n")}`;

export const checkOption = values(
  "--check <check>",
  `prove a goal by a check, such as ${EXAMPLES.map(quote).join(", ")}; "2: …" is for goal 2 (docs/checks.md); repeat it`,
);

/** Throws GOALD_USAGE with all forms for a text that fits none. Files of schemas and code are read from the current folder. */
export async function readCheckOptions(given: readonly string[], goalCount: number): Promise<readonly GoalCheck[]> {
  const refuse = (problem: string, [index]: readonly (string | number)[]): GoaldError =>
    usageError(`--check ${JSON.stringify(given[Number(index)])}: ${problem.replace(/^check \d+: /, "")}.`, HINT);
  const entries = given.map((text, index) => {
    const entry = parseCheck(text);
    if (!entry) throw refuse("this is not a form of a check", [index]);
    return entry;
  });
  const { readChecks } = await import("#config/read-checks.ts");
  return readChecks({ entries, goalCount, readText, refuse });
}

async function readText(path: string): Promise<string> {
  const file = await readTextFile(resolve(path), MAX_CHECK_BYTES);
  if (!file) throw new Error("there is no such file");
  return file.text;
}

/** A path with blanks is in double quotes. */
const PATH = String.raw`(?:"(?<quoted>[^"]+)"|(?<path>[^\s"]+))`;
const SHAPES: readonly (readonly [pattern: RegExp, entryOf: (part: Parts) => object])[] = [
  [/^python\s+(?<file>\S.*)$/s, ({ file }) => ({ code_file: file })],
  [
    /^url\s+(?<url>\S+)(?:\s+(?<status>\d{3}))?$/,
    ({ url, status }) => ({ url, ...(status ? { status: Number(status) } : {}) }),
  ],
  [
    /^judge\s+(?<files>[^:]+):\s*(?<question>\S.*)$/s,
    ({ files = "", question }) => ({ judge: question, files: files.trim().split(/\s*,\s*/) }),
  ],
  [new RegExp(`^${PATH}(?:\\s+exists)?$`), ({ quoted, path }) => ({ file: quoted ?? path })],
  [
    new RegExp(`^${PATH}\\s+contains\\s+(?<text>\\S.*)$`, "s"),
    ({ quoted, path, text }) => ({ file: quoted ?? path, contains: text }),
  ],
  [
    new RegExp(`^${PATH}\\s+min\\s+(?<min>\\d+)$`),
    ({ quoted, path, min }) => ({ file: quoted ?? path, min_chars: Number(min) }),
  ],
  [
    new RegExp(`^${PATH}\\s+matches\\s+(?<schema>\\S.*)$`),
    ({ quoted, path, schema }) => ({ file: quoted ?? path, schema }),
  ],
];
type Parts = Readonly<Record<string, string | undefined>>;

/** Returns an entry as an agent file has it; undefined for a text that fits no form. */
export function parseCheck(text: string): Readonly<Record<string, unknown>> | undefined {
  const [, goal, rest = ""] = /^(?:([1-9])\s*:\s+)?(.*)$/s.exec(text.trim()) ?? [];
  for (const [pattern, entryOf] of SHAPES) {
    const { groups } = pattern.exec(rest) ?? {};
    if (groups) return { ...entryOf(groups), ...(goal === undefined ? {} : { goal: Number(goal) }) };
  }
  return undefined;
}
