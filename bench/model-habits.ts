/**
 * model-habits.ts -- counts which of the replies that current models send are acted on at once, which are asked for again with a
 * reason, and which pause the agent, in all five forms.
 *
 *   node bench/model-habits.ts [--all]
 *
 * Each case is a run of the real main loop and the real client, against a server on loopback that sends the habit first and the
 * plain call of the form from then on. A command that was not meant, or with other arguments, is misread. Ends with 1 when
 * a reply is misread, or when fewer than nine of ten act at once or after one more request. --all lists every case.
 */
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { REPLY_FORMS, type ReplyForm } from "#core/agent-settings.ts";
import type { CommandCall } from "#core/call.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { Aliases } from "#reply/arrange-args.ts";
import { closeProseLoops, makeProseLoop, python } from "../test/helpers/loop.ts";
import type { Answer } from "../test/helpers/openai-server.ts";
import { HABITS, type Habit, PYTHON, WRITE } from "./model-habits/habits.ts";

const OUTCOMES = ["acts", "asks again", "pauses", "misread"] as const;
type Outcome = (typeof OUTCOMES)[number];
const LEAST_SHARE = 0.9;
const aliases = JSON.parse(readFileSync(`${import.meta.dirname}/../config/aliases.json`, "utf8")) as Aliases;
const CODE = { name: "run_code", args: { code: PYTHON } };
const isProse = (form: ReplyForm): boolean => form === "react" || form === "code";

const tried: { readonly form: ReplyForm; readonly outcome: Outcome }[] = [];

/** The call of a form, as a model writes it that does what it was asked for. */
function writeCall(
  form: ReplyForm,
  { name = WRITE.name, args = JSON.stringify(WRITE.args), block }: Pick<Habit, "name" | "args" | "block">,
): string {
  const action = block?.replace("{code}", PYTHON) ?? python(PYTHON);
  switch (form) {
    case "react":
      return `THOUGHT 1: The prices go into notes.md.\nACTION 1:\n${action}`;
    case "code":
      return `The prices go into notes.md.\n\n${action}`;
    case "plan":
      return `{"action":"${name}","args":${args}}`;
    default:
      return `{"thoughts":{"text":"The prices go into notes.md."},"command":{"name":"${name}","args":${args}}}`;
  }
}

function answerFor(form: ReplyForm, habit: Partial<Habit>): Answer {
  const { text, reasoning, finishReason = "stop", further = [] } = habit;
  const ending = { finishReason };
  if (reasoning !== undefined) return { status: 200, body: streamReasoning(reasoning) };
  if (form !== "tools" || (text !== undefined && !text.includes("{call}")))
    return { text: (text ?? "{call}").replaceAll("{call}", () => writeCall(form, habit)), ...ending };
  const { name = WRITE.name, args = JSON.stringify(WRITE.args) } = habit;
  const calls = [{ name, args }, ...further.map((each) => ({ name: each.name, args: JSON.stringify(each.args) }))];
  const toolCalls = calls.map(({ name, args }, at) => ({
    id: `c${at}`,
    type: "function",
    function: { name, arguments: args },
  }));
  return { text: (text ?? "").replaceAll("{call}", "") || null, toolCalls, ...ending };
}

function streamReasoning(reasoning: string): string {
  const chunk = (delta: object, reason: string | null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
  return `${chunk({ role: "assistant", content: null, reasoning_content: reasoning }, null)}${chunk({}, "stop")}data: [DONE]\n\n`;
}

interface Tried {
  readonly outcome: Outcome;
  /** Names the call, or says why the reply was not read. */
  readonly why: string;
}

async function tryHabit(habit: Habit, form: ReplyForm): Promise<Tried> {
  const reply = (_request: unknown, index: number): Answer => answerFor(form, index === 0 ? habit : {});
  const { loop } = await makeProseLoop(form, reply, {}, { aliases, settings: { stepLimit: 3 } });
  await loop.run();
  await closeProseLoops();
  const events = await loop.events();
  const next = events.findIndex(({ type }, at) => type === "model-asked" && at > events.findIndex(isAnswered));
  const [first, later] = next < 0 ? [events, []] : [events.slice(0, next), events.slice(next)];
  const called = callsIn(first);
  const refusal = first.find(({ type }) => type === "reply-rejected" || type === "model-failed");
  if (called.length > 0)
    return {
      outcome: isDeepStrictEqual(called, meantBy(habit, form)) ? "acts" : "misread",
      why: JSON.stringify(called),
    };
  const why = JSON.stringify(refusal);
  const [again] = callsIn(later);
  if (again && !isDeepStrictEqual([again], [isProse(form) ? CODE : WRITE])) return { outcome: "misread", why };
  return { outcome: again && refusal?.type === "reply-rejected" ? "asks again" : "pauses", why };
}

const isAnswered = ({ type }: RecordedEvent): boolean => type === "model-replied" || type === "model-failed";

const callsIn = (events: readonly RecordedEvent[]): readonly CommandCall[] =>
  events.flatMap((event) => (event.type === "command-requested" ? [event.call] : []));

/** In the form code, prose without a call is the answer. */
function meantBy({ means, text = "{call}", isAnswer }: Habit, form: ReplyForm): readonly CommandCall[] {
  if (isAnswer && form === "code") return [{ name: "task_complete", args: { reason: text } }];
  return means ?? [isProse(form) && (text.includes("{call}") || text.includes(PYTHON)) ? CODE : WRITE];
}

function showShares(): void {
  const line = (...cells: readonly string[]): string => cells.map((each) => each.padStart(12)).join("");
  console.log(`\n${HABITS.length} habits\n\n${line("form", "cases", ...OUTCOMES)}`);
  for (const form of [...REPLY_FORMS, "all"]) {
    const cases = tried.filter((each) => form === "all" || each.form === form);
    const shares = OUTCOMES.map((each) => cases.filter(({ outcome }) => outcome === each).length / cases.length);
    console.log(line(form, `${cases.length}`, ...shares.map((share) => `${(share * 100).toFixed(1)} %`)));
    const [acts = 0, asks = 0, , misread = 0] = shares;
    if (acts + asks < LEAST_SHARE || misread > 0) process.exitCode = 1;
  }
}

for (const habit of HABITS)
  for (const form of habit.forms ?? REPLY_FORMS) {
    const { outcome, why } = await tryHabit(habit, form);
    tried.push({ form, outcome });
    if (process.argv.includes("--all") || outcome === "pauses" || outcome === "misread")
      console.log(`${form.padEnd(6)}${outcome.padEnd(11)}${habit.family} sends ${habit.sends}: ${why}`);
  }
showShares();
