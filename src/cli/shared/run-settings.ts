/**
 * run-settings.ts -- turns the flags of `goald run` and `goald resume` into an agent's approvals and limits.
 *
 * A limit counts from the agent's current usage. Unattended runs have default limits.
 */

import { isCharged } from "#app/catalogue.ts";
import { loadSettings, type SettingFlags } from "#config/load-settings.ts";
import type { AgentSettings, ApprovalMode, GivenSettings, PlanMode, ReplyForm } from "#core/agent-settings.ts";
import { GoaldError } from "#core/errors.ts";
import { limitReached, spentOf } from "#core/limits.ts";
import { type AgentState, initialState } from "#core/state.ts";
import { type CliContext, formatCall, type GlobalOptions } from "./context.ts";

/** Limits count from the agent's current usage; Infinity means no limit. */
export interface LimitOptions {
  readonly maxSteps?: number;
  readonly maxTokens?: number;
  /** Limit in US dollars. */
  readonly budget?: number;
  /** Limit in milliseconds. */
  readonly maxTime?: number;
}

export interface GoOptions extends GlobalOptions, LimitOptions {
  readonly continuous?: boolean;
  readonly continuousLimit?: number;
  readonly approve?: ApprovalMode;
  readonly model?: string;
  readonly form?: ReplyForm;
  readonly plan?: PlanMode;
  readonly commands?: string;
  readonly detach?: boolean;
}

/** Throws GOALD_USAGE for flags that contradict each other. */
export function checkOptions({ continuous, continuousLimit, approve, maxSteps }: GoOptions): void {
  if (continuous && approve !== undefined && approve !== "never")
    throw usage(`--continuous asks about no command, and --approve ${approve} does.`, "Leave one of the two out.");
  if (continuousLimit !== undefined && !continuous)
    throw usage(
      "--continuous-limit goes with --continuous.",
      "Add --continuous, or leave the limit out: you are asked about each command.",
    );
  if (continuousLimit !== undefined && maxSteps !== undefined && maxSteps !== continuousLimit)
    throw usage(
      `--continuous-limit ${continuousLimit} and --max-steps ${maxSteps === Number.POSITIVE_INFINITY ? "none" : maxSteps} say different things.`,
      "They mean the same: leave one of the two out.",
    );
}

/** Throws GOALD_USAGE when commands need approval and no terminal can ask for it. */
export function requireSomebody({ output }: CliContext, approve: ApprovalMode): void {
  if (approve === "never" || output.interactive) return;
  throw usage(
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
  const flag = { "step-limit": "--max-steps N", "token-limit": "--max-tokens N", budget: "--budget USD" } as const;
  const missing = limit.code === "time-limit" ? "--max-time 8h" : flag[limit.code];
  throw usage(
    limit.reason.replaceAll("goald resume <agent>", ["goald", ...call].join(" ")),
    `Allow it more: ${formatCall(context.home, ...call, missing)}`,
  );
}

/** Limits count from current usage, which includes sub-agents. */
function givenLimits(options: GoOptions, state: AgentState, now: Date): Partial<AgentSettings> {
  const { maxSteps = options.continuousLimit, maxTokens, budget, maxTime } = options;
  const spent = spentOf(state);
  const from = (start: number, more: number): number | null => (Number.isFinite(more) ? start + more : null);
  const deadline = (ms: number): string | null =>
    Number.isFinite(ms) ? new Date(now.getTime() + ms).toISOString() : null;
  return {
    ...(maxSteps === undefined ? {} : { stepLimit: from(spent.steps, maxSteps) }),
    ...(maxTokens === undefined ? {} : { tokenLimit: from(spent.tokens, maxTokens) }),
    ...(budget === undefined ? {} : { budgetUsd: from(spent.usd, budget) }),
    ...(maxTime === undefined ? {} : { deadline: deadline(maxTime) }),
  };
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

const usage = (message: string, hint: string): GoaldError => new GoaldError("GOALD_USAGE", message, { hint });
