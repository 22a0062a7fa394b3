/**
 * living-line.ts -- the line on a terminal that shows what a followed agent does now, and the line that a person is
 * typing. Both are below the text of the run. They change four times a second, so that a wait never looks like a
 * standstill. They are away while a question is asked.
 */
import { fitLine, widthOf } from "#cli/terminal/living-text.ts";
import { type LinesBelow, paint, printable, shortSpan } from "#cli/terminal/print.ts";
import type { RecordedEvent } from "#core/event.ts";
import { isNestedCall } from "#core/frames.ts";
import { waitsForHelpers } from "#core/guards.ts";
import { type AgentState, activeFrame, openCommand, openQuestion } from "#core/state.ts";
import { systemClock } from "#util/clock.ts";
import { clean } from "#util/outside-text.ts";
import { dollars, limitsLeft } from "#views/agent-view.ts";

/** The line shows these facts, which the state does not have. */
export interface LivingFacts {
  readonly now: Date;
  /** When the present activity began. */
  readonly since: Date;
  /** Characters of the reply that have arrived. */
  readonly received: number;
  /** The status of the server's last failure, such as 503; undefined when it sent none. */
  readonly status: string | undefined;
  /** Until when the request is not sent because the model server wants fewer; null when it is sent. */
  readonly heldUntil: string | null;
  /** The effect of the next Ctrl-C. */
  readonly key: KeyHint;
}

export type KeyHint = "pauses" | "leaves" | "stops" | "ends";

const KEYS: Readonly<Record<KeyHint, readonly [long: string, short: string]>> = {
  pauses: ["Ctrl-C pauses", "^C pauses"],
  leaves: ["Ctrl-C leaves it running", "^C leaves"],
  stops: ["pausing after this step; Ctrl-C again stops at once", "^C stops now"],
  ends: ["stopping", "stopping"],
};

/** Returns a line of at most `columns` cells. A narrow line leaves out tokens, then the number of the step. */
export function describeNow(state: AgentState, facts: LivingFacts, columns: number): string {
  const what = clean(activityOf(state, facts)).replaceAll("\n", " ");
  const { step } = state;
  const steps = state.settings.stepLimit === null ? `step ${step}` : `step ${step} of ${state.settings.stepLimit}`;
  const tokens = state.usage.inputTokens + state.usage.outputTokens;
  const used = tokens === 0 ? "" : `${shortCount(tokens)} tokens`;
  const [long, short] = KEYS[facts.key];
  const money = moneyOf(state, facts.now);
  const ways = [
    [what, steps, used, money, long],
    [what, steps, money, long],
    [what, steps, money, short],
    [what, money, short],
    [what, short],
  ].map((parts) => parts.filter((part) => part !== "").join(" · "));
  const least = `${fitLine(what, Math.max(1, columns - widthOf(short) - 3))} · ${short}`;
  return ways.find((way) => widthOf(way) <= columns) ?? fitLine(least, columns);
}

function activityOf(state: AgentState, { now, since, received, status, heldUntil }: LivingFacts): string {
  const { phase, failedTries } = activeFrame(state);
  const lasting = shortSpan(now.getTime() - since.getTime());
  if (phase.kind === "retrying") {
    const failure = failedTries.at(-1);
    const cause = failure?.code === "rate-limited" ? "429 rate limit" : (status ?? failure?.code ?? "no reply");
    return `${cause} · trying again in ${countdown(phase.at, now)}`;
  }
  if (phase.kind === "asking") {
    const model = openQuestion(state, phase.callId)?.model ?? "the model";
    if (received > 0) return `${model} is writing, ${shortCount(received)} characters · ${lasting}`;
    if (heldUntil !== null) return `rate limit · asking ${model} in ${countdown(heldUntil, now)}`;
    return `asking ${model} · ${lasting}`;
  }
  if (phase.kind === "waiting") {
    if (phase.waitFor === "time" && phase.until !== null) return `waiting for ${countdown(phase.until, now)}`;
    return `waiting for ${phase.waitFor === "agent" ? "another agent" : "a person"} · ${lasting}`;
  }
  if (phase.kind === "approved" || phase.kind === "executing") {
    const name = openCommand(state, phase.callId)?.call.name ?? "a command";
    return `running ${name} · ${lasting}`;
  }
  if (phase.kind === "thinking" && waitsForHelpers(state)) return `waiting for its agents · ${lasting}`;
  return `preparing the next step · ${lasting}`;
}

/** Whole seconds until then, counted up, so that the last one is not 0. */
const countdown = (until: string, now: Date): string => shortSpan(Math.max(0, Date.parse(until) - now.getTime()) + 999);

function moneyOf(state: AgentState, now: Date): string {
  const budget = limitsLeft(state, now).find(({ limit }) => limit === "usd");
  if (budget) return `${dollars(budget.used)} of ${dollars(Number(budget.allowed))}`;
  return state.costUsd > 0 ? dollars(state.costUsd) : "";
}

const shortCount = (count: number): string => {
  if (count < 1_000) return `${count}`;
  return count < 1e6 ? `${(count / 1e3).toFixed(count < 1e4 ? 1 : 0)}k` : `${(count / 1e6).toFixed(1)}M`;
};

const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const EVERY_MS = 250;

export interface LivingLineParts {
  readonly below: LinesBelow;
  readonly colour: boolean;
  redact(text: string): string;
  typed(): string;
  /** True while a question is asked. */
  isAway(): boolean;
}

export class LivingLine {
  readonly #parts: LivingLineParts;
  readonly #timer: NodeJS.Timeout;
  #state: AgentState;
  #since: Date;
  #activity: string;
  #received = 0;
  /** The last line that the running cell has printed. */
  #printed = "";
  #status: string | undefined;
  heldUntil: string | null = null;
  #key: KeyHint;
  #frame = 0;

  /** `since`: when the agent's last event was recorded. */
  constructor(parts: LivingLineParts, state: AgentState, since: Date, key: KeyHint) {
    this.#parts = parts;
    this.#state = state;
    this.#since = since;
    this.#activity = activityIn(state);
    this.#key = key;
    this.#timer = setInterval(() => {
      this.#frame += 1;
      this.draw();
    }, EVERY_MS);
  }

  /** `state`: the state after the event. */
  see(event: RecordedEvent, state: AgentState): void {
    this.#state = state;
    const activity = activityIn(state);
    if (activity !== this.#activity) this.#since = new Date(event.at);
    this.#activity = activity;
    if (event.type === "model-asked") this.#received = 0;
    if (event.type === "command-finished" && !isNestedCall(event.callId)) this.#printed = "";
    if (event.type === "model-failed") this.#status = /\banswered (\d{3})\b/.exec(event.message)?.[1];
    this.draw();
  }

  receive(characters: number): void {
    this.#received += characters;
  }

  print(line: string): void {
    this.#printed = printable(line);
  }

  setKey(key: KeyHint): void {
    this.#key = key;
    this.draw();
  }

  draw(): void {
    const { below, isAway } = this.#parts;
    below.show(isAway() ? [] : this.#lines());
  }

  end(): void {
    clearInterval(this.#timer);
    this.#parts.below.end();
  }

  #lines(): readonly string[] {
    const { colour, redact, typed } = this.#parts;
    const columns = (process.stdout.columns || 80) - 1;
    const facts = { now: systemClock.now(), since: this.#since, received: this.#received, status: this.#status };
    const now = describeNow(this.#state, { ...facts, heldUntil: this.heldUntil, key: this.#key }, columns - 2);
    const sign = FRAMES[this.#frame % FRAMES.length] ?? "";
    const words = printable(redact(typed()));
    return [
      `${paint(colour, "cyan", sign)} ${paint(colour, "dim", now)}`,
      ...(this.#printed === "" ? [] : [paint(colour, "dim", fitLine(`  ${this.#printed}`, columns))]),
      ...(words === "" ? [] : [`${paint(colour, "cyan", ">")} ${endOf(words, columns - 2)}`]),
    ];
  }
}

/** Differs from one activity to the next. */
function activityIn(state: AgentState): string {
  const { id, phase } = activeFrame(state);
  return `${id} ${phase.kind === "approved" ? "executing" : phase.kind} ${"callId" in phase ? phase.callId : ""}`;
}

/** The end of a line that is too long, because the person is typing there. */
export const endOf = (text: string, columns: number): string => {
  if (widthOf(text) <= columns) return text;
  let end = text.slice(-columns).toWellFormed();
  while (end !== "" && widthOf(end) >= columns) end = end.slice(1).toWellFormed();
  return `…${end}`;
};
