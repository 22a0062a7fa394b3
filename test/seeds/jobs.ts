/** jobs.ts -- jobs of the seeds, with the replies of a model that is given them. */
import { expect } from "@jest/globals";
import type { ReplyForm } from "#core/agent-settings.ts";
import type { CommandCall } from "#core/call.ts";
import type { PlanTask } from "#core/plan.ts";
import type { Recall } from "#core/ports/memory.ts";
import type { ModelRequest } from "#core/ports/model.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { done, makeLoop, reply } from "../helpers/loop.ts";
import { openHashEmbedder } from "../helpers/memory-rows.ts";
import { action, block, type Line, onGoals, onTask, type Seen } from "../helpers/models.ts";
import type { Answer } from "../helpers/openai-server.ts";
import { type ServiceServer, startServiceServer } from "../helpers/service-servers.ts";

// The long job of the seeds' review: search, six pages, six files, notes and a plan in 20 steps, in any form.
//
// The model decides by the request alone: its newest reply that is shown names the step, and the newest result says
// whether that is done. So the same request always gets the same reply, and a reply that goald lost is given again.

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
}
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
export const jobSteps = (form: ReplyForm, origin: string): readonly JobStep[] => {
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
  return status === "ok" ? index + 1 : index;
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
function fillPrice({ name, args }: JobStep, { all }: Seen): CommandCall {
  const { url, file, text } = args;
  if (typeof url === "string" && !all.includes(url)) throw new Error(`The request does not show ${url}.`);
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

// An agent that gets a task a turn: the real loop with the real long-term memory, in memory.

const PLACES = ["harbour", "castle", "station", "garden", "bridge", "market", "tower", "mill", "quarry", "abbey"];
const KINDS = ["survey", "inventory", "timetable", "budget", "rota", "catalogue", "forecast", "diary", "ledger"];

/** The request of a turn. Turn 3 is about the lighthouse, and no other one. */
export const taskOf = (turn: number): string =>
  turn === 3
    ? "Write the lighthouse schedule."
    : `Write the ${KINDS[turn % KINDS.length]} of the ${PLACES[(turn * 7) % PLACES.length]} number ${1_000 + turn}.`;
/** The command of turn 3 has a line that nothing else has. */
export const LANTERN = 'lantern = rotate(period=11, colour="amber")';
const textOf = (turn: number): string => {
  const lines = Array.from(
    { length: 12 },
    (_none, at) => `row ${at} of the ${KINDS[(turn + at) % KINDS.length]}: ${turn * 31 + at} crates\n`,
  );
  return turn === 3 ? `${LANTERN}\n${lines.join("")}` : lines.join("");
};

/** `watch` is called with the number of each turn that has ended, and its first request. */
export async function runTurns(count: number, watch: (turn: number, request: ModelRequest) => void = () => undefined) {
  let turn = 1;
  let recalls: readonly Recall[] = [];
  /** The first request of each turn, with what was recalled for it. */
  const seen: { request: ModelRequest; recalls: readonly Recall[] }[] = [];
  const script = (request: ModelRequest): string => {
    const result = request.messages.some(({ content }) => content.startsWith("Command write_to_file"));
    if (!result) seen.push({ request, recalls });
    if (result) return done(`The ${turn === 3 ? "lighthouse schedule" : `paper ${turn}`} is written.`);
    return reply("write_to_file", { file: `paper-${turn % 20}.txt`, text: textOf(turn) }, `Now paper ${turn}.`);
  };
  const memory = {
    remote: false,
    recall: async (query: never, signal: AbortSignal) => (recalls = await real.recall(query, signal)),
  };
  const loop = await makeLoop({ script, memory, goals: [taskOf(1)], settings: { stepLimit: null } });
  const real = openLongTermMemory({ store: loop.store, embedder: openHashEmbedder(), report: fail });
  const firstOf = () => seen.at(-1) as (typeof seen)[number];
  const say = async (text: string) => {
    await loop.tell({ type: "say", from: "ada", text });
    await loop.run();
    return firstOf();
  };
  await loop.run();
  watch(1, firstOf().request);
  while (turn < count) {
    turn++;
    watch(turn, (await say(taskOf(turn))).request);
  }
  turn++;
  return { loop, first: firstOf(), say };
}

const fail = (problem: string): never => {
  throw new Error(problem);
};

export const bytesOf = ({ messages }: ModelRequest): number => Buffer.byteLength(JSON.stringify(messages));

// The first example of seed 000: introduce those of three cities that have more than 15 million people.

export const CITIES_GOAL =
  "Google search the population of Guangzhou, Shenzhen, Chengdu. If the population of these cities is greater than 15 million, " +
  "introduce the city in detail and write the introduction of all cities to me in a markdown file.";

const POPULATIONS: Readonly<Record<string, string>> = {
  Guangzhou: "14,284,000",
  Shenzhen: "17,560,000",
  Chengdu: "20,937,757",
};
const TOPICS = ["history", "food", "economy"] as const;

/** What the search engine finds. */
export function findCity(query: string): string {
  const [, city = ""] = /\binhabitants\b.*\b(\w+)$/.exec(query) ?? [];
  if (city in POPULATIONS)
    return `The current metro area population of ${city} in 2023 is ${POPULATIONS[city]}, an increase from 2022.`;
  return `${query} is described in many books.`;
}

/** The program of the seed. */
const PROGRAM = `cities = ['Guangzhou', 'Shenzhen', 'Chengdu']
contents = []
for city in cities:
    population_search_result = agent.run(f'Google search population of {city}', return_type=str)
    population = agent.run(f'background: {population_search_result} Extract population number', return_type=int)
    if population > 15000000:
        introduction = agent.run(f'Introduce {city}', return_type=str)
        contents.append(introduction)
with open('cities_introduction.md', 'w') as f:
    f.writelines(contents)
'cities_introduction.md'`;

/** The second introduction is written piece by piece. */
const introduce = (
  city: string,
): string => `facts = [google(f'${city} {topic} for curious visitors')[0]['body'] for topic in ${JSON.stringify(TOPICS)}]
pieces = [agent.run(f'Write about this: {fact}', return_type=str) for fact in facts]
append_to_file('notes.txt', '${city}\\n')
'# ${city}\\n\\n' + '\\n'.join(pieces) + '\\n'`;

/** As models send it: a number with commas, and search words of their own. */
export const CITIES_LINES: readonly Line[] = [
  onTask(/^Google search population of (\w+)$/, ([, city]) =>
    block(`results = google("official number of inhabitants in the whole metro area of ${city}")\nresults[0]["body"]`),
  ),
  onTask(/population of \w+ in 2023 is (\d[\d,]*\d)[\s\S]*Extract population number$/, ([, number = ""]) => number),
  onTask(/^Introduce Shenzhen$/, () => "# Shenzhen\n\nShenzhen lies beside Hong Kong.\n"),
  onTask(/^Introduce (Chengdu)$/, ([, city = ""]) => block(introduce(city))),
  onTask(
    /^Write about this: [\s\S]*?(\w+) (\w+) for curious visitors is described/,
    ([, city, topic]) => `RESULT:\nAll about ${city} ${topic}.`,
  ),
  onGoals(({ last }) => last.includes("cities_introduction.md"), "The introductions are in cities_introduction.md."),
  onGoals(({ own }) => own.length === 0, block(PROGRAM, "python", "I ask for each city, then write the file.")),
];

/** Tasks of all sub-tasks, in the order of their first request. */
const tasksOf = (seen: readonly Seen[]): readonly string[] => [
  ...new Set(seen.flatMap(({ task }) => (task === undefined ? [] : [task]))),
];

export function expectCitiesOrder(seen: readonly Seen[]): void {
  const found = (city: string) =>
    new RegExp(`^background: [\\s\\S]*population of ${city} in 2023[\\s\\S]*Extract population number$`);
  const ask = (city: string) => [`Google search population of ${city}`, expect.stringMatching(found(city))];
  expect(tasksOf(seen)).toEqual([
    ...ask("Guangzhou"),
    ...ask("Shenzhen"),
    "Introduce Shenzhen",
    ...ask("Chengdu"),
    "Introduce Chengdu",
    ...TOPICS.map((topic) => expect.stringMatching(`^Write about this: [\\s\\S]*Chengdu ${topic}`)),
  ]);
}

export function expectCitiesFile(text: string | undefined): void {
  const [shenzhen, chengdu] = (text ?? "").split(/\s*(?=# Chengdu)/);
  expect(shenzhen).toBe("# Shenzhen\n\nShenzhen lies beside Hong Kong.");
  expect(chengdu).toBe(`# Chengdu\n\n${TOPICS.map((topic) => `All about Chengdu ${topic}.\n`).join("")}`);
}

// The example of seed 002: a tutorial is planned, written to a file, checked and closed, one action at a time.

export const TUTORIAL_GOAL =
  "Write a tutorial for a blog on how to build an autonomous agent on a language model, and save it to a text file.";
export const TUTORIAL_FILE = "tutorial.txt";
export const TUTORIAL =
  "How to build an agent\n\n1. Keep a plan.\n2. Act, and observe what comes of it.\n3. Stop when done.\n";
const PARTS = ["Think of an outline", `Write it to ${TUTORIAL_FILE}`, "Check the file"];
const OUTLINE = "Plan, actions, observations, memory, the loop.";

type ShownTask = Pick<PlanTask, "goal" | "state"> & { readonly subtasks?: readonly ShownTask[] };

/** The plan in the last message. */
function planIn({ last }: Seen): ShownTask {
  const [, , json = ""] = /<data-([\w-]+)>\n(\{"id":"0",.*\})\n<\/data-\1>/.exec(last) ?? [];
  if (json === "") throw new Error(`The prompt shows no plan:\n${last}`);
  return JSON.parse(json);
}

const act = (action: string, args: object = {}): string => JSON.stringify({ action, args });
const set = (id: string, state: string): string => act("modify_task", { id, state });
const has = (seen: Seen, words: string): boolean => seen.own.some((reply) => reply.includes(words));
const partsIn = (seen: Seen): readonly ShownTask[] => planIn(seen).subtasks ?? [];

/** The model decides by the plan and the history alone. */
export const TUTORIAL_LINES: readonly Line[] = [
  {
    when: (seen) => partsIn(seen).length < PARTS.length,
    say: (seen) => act("add_task", { parent: "0", goal: PARTS[partsIn(seen).length] }),
  },
  { when: (seen) => planIn(seen).state === "open", say: set("0.1", "in_progress") },
  { when: (seen) => !has(seen, OUTLINE), say: act("think", { thought: OUTLINE }) },
  {
    when: (seen) => !seen.all.includes('"observation":"write_to_file"'),
    say: `Here it is: ${act("write", { path: TUTORIAL_FILE, contents: TUTORIAL })}`,
  },
  { when: (seen) => planIn(seen).state === "in_progress", say: set("0", "completed") },
  { when: (seen) => planIn(seen).state === "completed", say: set("0", "verified") },
  { say: act("finish") },
];

/** Requests of a run that nothing interrupts. */
export const TUTORIAL_STEPS = 9;

const verified = (goal: string): PlanTask => ({ goal, state: "verified", subtasks: [] });
/** The plan at the end. A task's id is its place. */
export const TUTORIAL_PLAN: PlanTask = { ...verified(TUTORIAL_GOAL), subtasks: PARTS.map(verified) };
