/**
 * long-job.ts -- the long job of the seeds' review: search, six pages, six files, notes and a plan in 20 steps, in any form.
 *
 * The model decides by the request alone: its newest reply that is shown names the step, and the newest result says whether that
 * is done. So the same request always gets the same reply, and a reply that goald lost is given again.
 */
import type { ReplyForm } from "#core/agent-settings.ts";
import type { CommandCall } from "#core/call.ts";
import { action, block, type Line, type Seen } from "../helpers/conditional-model.ts";
import type { Answer } from "../helpers/openai-answers.ts";
import { type ServiceServer, startServiceServer } from "../helpers/service-server.ts";

export const FORMS: readonly ReplyForm[] = ["json", "tools", "plan", "code", "react"];

/** The lamps of the job with the prices that only their pages say. */
const PRICES: Readonly<Record<string, number>> = { alder: 41, birch: 52, cedar: 63, ebony: 74, hazel: 85, larch: 96 };
export const LAMPS: readonly string[] = Object.keys(PRICES);
export const JOB_GOAL =
  "Find out what each of the six lamps of the Holm workshop costs. Write a file about each, such as alder.md, and keep notes in notes.md.";
const NOTES = "Alder, birch, cedar and ebony are described; hazel and larch are left.\n";

export const JOB_FILES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(LAMPS.map((lamp) => [`${lamp}.md`, describeLamp(lamp, String(PRICES[lamp]))])),
  "notes.md": NOTES,
};
function describeLamp(lamp: string, price: string): string {
  return `# The lamp ${lamp}\n\nIt costs ${price} euros.\n`;
}

// ---------------------------------------------------------------- the web

/** Pages of a workshop on loopback. Each page links to the next. `hold`: is awaited before a page is sent. */
export const startWorkshop = (hold: (lamp: string) => Promise<void> = async () => undefined): Promise<ServiceServer> =>
  startServiceServer(async ({ path }) => {
    const lamp = path.replace("/lamps/", "");
    const price = PRICES[lamp];
    if (price === undefined) return { status: 404, body: "There is no such page." };
    await hold(lamp);
    const next = LAMPS[LAMPS.indexOf(lamp) + 1] ?? "alder";
    const words = `<p>The lamp ${lamp} costs ${price} euros.</p><p>It is made by hand, of wood and paper, in three weeks.</p>`;
    const link = `<p>Look at <a href="/lamps/${next}">the lamp ${next}</a>, too.</p>`;
    return {
      status: 200,
      body: `<html><head><title>The lamp ${lamp}</title></head><body><article><h1>The lamp ${lamp}</h1>${words}${link}</article></body></html>`,
    };
  });

/** What the search engine finds: the address of the first page only. */
export const findWorkshop = (origin: string) => (): string => `The workshop of Holm begins with ${origin}/lamps/alder`;

// ---------------------------------------------------------------- the steps

interface JobStep extends CommandCall {
  /** What no other reply of the job holds, in any form. */
  readonly mark: string;
  /** What the newest result must hold before the next step. Default: its status is ok. */
  readonly until?: RegExp;
}
export type JobSteps = (form: ReplyForm, origin: string) => readonly JobStep[];

const browse = (origin: string, lamp: string): JobStep => ({
  name: "browse_website",
  args: { url: `${origin}/lamps/${lamp}`, question: `What does the lamp ${lamp} cost?` },
  mark: `/lamps/${lamp}"`,
});
/** `{price}` stands for what the page said. */
const describe = (lamp: string): JobStep => ({
  name: "write_to_file",
  args: { file: `${lamp}.md`, text: describeLamp(lamp, "{price}") },
  mark: `${lamp}.md"`,
});
const search: JobStep = {
  name: "google",
  args: { input: "prices of the six lamps of the Holm workshop" },
  mark: "lamps of the Holm",
};
const findMethods = (description: string): JobStep => ({
  name: "method_search",
  args: { description },
  mark: description,
});
const findWebMethods = findMethods("Search the web, and read a web page");
const setTask = (id: string, state: string, mark: string): JobStep => ({
  name: "modify_task",
  args: { id, state },
  mark,
});
const BEGIN = setTask("0", "in_progress", '{"id":"0","state":"in_progress"');
const VERIFY = setTask("0", "verified", '"verified"');

const PAIRS = [
  ["alder", "birch"],
  ["cedar", "ebony"],
  ["hazel", "larch"],
] as const;
const TASK = "Describe the six lamps";

/** 20 steps with the end. The form `react` searches for methods twice more, and the form `plan` begins with a task. */
export const jobSteps: JobSteps = (form, origin) => {
  const subtasks = PAIRS.map(([first, second]) => ({ goal: `The lamps ${first} and ${second}` }));
  const add: JobStep = { name: "add_task", args: { parent: "0", goal: TASK, subtasks }, mark: TASK };
  const [first = [], second = [], third = []] = PAIRS.map((lamps, index) => [
    setTask(`0.0.${index}`, "in_progress", `"0.0.${index}"`),
    ...lamps.flatMap((lamp) => [browse(origin, lamp), describe(lamp)]),
  ]);
  const notes: JobStep = { name: "append_to_file", args: { file: "notes.md", text: NOTES }, mark: 'notes.md"' };
  const lamps = [...first, ...second, notes, ...third, VERIFY];
  if (form === "react") return [findMethods("Add a task to the plan"), add, findWebMethods, search, ...lamps];
  return [...(form === "plan" ? [BEGIN] : []), add, search, ...lamps];
};

/** Pages whose addresses nothing has shown. */
export const GUESSED: readonly string[] = ["birch-2025", "birch-2026", "birch-2027"];
/** The model guesses addresses, reads why they were not opened, and follows the link of the page instead. */
export const guessSteps: JobSteps = (form, origin) => {
  const until = /You may open an address exactly as a page|404/;
  const guesses = GUESSED.map((page) => ({ ...browse(origin, page), until }));
  const work = [search, browse(origin, "alder"), ...guesses, browse(origin, "birch"), describe("birch")];
  if (form === "react") return [findWebMethods, ...work];
  return form === "plan" ? [BEGIN, ...work, VERIFY] : work;
};

// ---------------------------------------------------------------- the model

/** `steps` in turn, then the end. */
export const jobLines = (form: ReplyForm, steps: readonly JobStep[]): readonly Line[] => [
  { when: ({ system }) => system.startsWith("Answer the question from the passages"), say: answerFromPage },
  { when: (seen) => mustThink(form, seen), say: JSON.stringify({ action: "think", args: { thought: "It is done." } }) },
  { say: (seen) => write(form, steps[nextStep(steps, seen)], seen) },
];

/** Reads the price in the passages, as a model that is asked about one page. */
function answerFromPage({ all }: Seen): string {
  const [words = ""] = /The lamp \w+ costs \d+ euros\./.exec(all) ?? [];
  return JSON.stringify({ found: true, answer: words, quotes: [{ passage: "p1", text: words }] });
}

/** The form `plan` may ask for a thought after each action. */
const mustThink = (form: ReplyForm, { system, own }: Seen): boolean =>
  form === "plan" &&
  system.includes("after each of them comes a `think`") &&
  /"action":"(?:google|browse|write|append)/.test(own.at(-1) ?? "");

/** A step whose result is not shown, such as a change of the plan in the form `plan`, is done. */
function nextStep(steps: readonly JobStep[], seen: Seen): number {
  const newest = seen.own.findLast((reply) => !reply.includes('"action":"think"'))?.replaceAll("'", '"');
  if (newest === undefined) return 0;
  const index = steps.findIndex(({ mark }) => newest.includes(mark));
  const result = resultIn(seen);
  const status = result === "" ? "ok" : /\bstatus"?:? ?"?(ok|failed|denied|cancelled|unknown)/.exec(result)?.[1];
  if (index < 0 || status === undefined) throw new Error(`No step is known to this model:\n${newest}\n${result}`);
  const isDone = steps[index]?.until?.test(result) ?? status === "ok";
  return isDone ? index + 1 : index;
}

/** The newest result; empty when the newest reply has none. */
function resultIn({ messages }: Seen): string {
  const newest = messages.at(-2);
  return newest && newest.role !== "assistant" ? newest.content : "";
}

function write(form: ReplyForm, step: JobStep | undefined, seen: Seen): Answer {
  const end = "All six lamps are described.";
  const call = step ? fillPrice(step, seen) : { name: "task_complete", args: { reason: end } };
  switch (form) {
    case "json":
      return JSON.stringify({
        thoughts: { text: "I go on.", reasoning: "", plan: "", criticism: "", speak: "" },
        command: call,
      });
    case "tools":
      return {
        text: null,
        finishReason: "tool_calls",
        toolCalls: [
          {
            id: "call_1",
            type: "function",
            function: { name: call.name, arguments: JSON.stringify({ thought: "I go on.", ...call.args }) },
          },
        ],
      };
    case "plan":
      return JSON.stringify({ action: step ? call.name : "finish", args: step ? call.args : {} });
    case "code":
      return step ? block(toPython(call)) : `RESULT:\n${end}`;
    case "react":
      return action(seen, step ? `found = ${toPython(call)}\nprint(found)` : "stop()");
  }
}

/** Throws for an address or a price that the model cannot know. */
function fillPrice({ name, args, until }: JobStep, { all }: Seen): CommandCall {
  const { url, file, text } = args;
  if (typeof url === "string" && !until && !all.includes(url)) throw new Error(`The request does not show ${url}.`);
  if (typeof text !== "string" || !text.includes("{price}")) return { name, args };
  const [, price] = new RegExp(`The lamp ${String(file).replace(".md", "")} costs (\\d+) euros`).exec(all) ?? [];
  if (price === undefined) throw new Error(`The request does not show the price for ${file}.`);
  return { name, args: { file, text: text.replace("{price}", price) } };
}

/** Files are written as Python has it, and commands are called by name. */
function toPython({ name, args }: CommandCall): string {
  const given = (key: string): string => JSON.stringify(args[key]);
  if (name === "write_to_file") return `open(${given("file")}, "w").write(${given("text")})`;
  if (name === "append_to_file") return `open(${given("file")}, "a").write(${given("text")})`;
  return `${name}(${Object.keys(args)
    .map((key) => `${key}=${given(key)}`)
    .join(", ")})`;
}
