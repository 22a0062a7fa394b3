/** cities.ts -- the first example of seed 000: introduce those of three cities that have more than 15 million people. */
import { expect } from "@jest/globals";
import { block, type Line, onGoals, onTask, type Seen } from "../helpers/conditional-model.ts";

export const CITIES_GOAL =
  "Google search the population of Guangzhou, Shenzhen, Chengdu. If the population of these cities is greater than 15 million, " +
  "introduce the city in detail and write the introduction of all cities to me in a markdown file.";

const POPULATIONS: Readonly<Record<string, string>> = {
  Guangzhou: "14,284,000",
  Shenzhen: "17,560,000",
  Chengdu: "20,937,757",
};
export const TOPICS = ["history", "food", "economy"] as const;

/** What the search engine finds. */
export function findCity(query: string): string {
  const [, city = ""] = /\b(?:population|inhabitants)\b.*\b(\w+)$/.exec(query) ?? [];
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
): string => `facts = [google(f'${city} {topic}')[0]['body'] for topic in ${JSON.stringify(TOPICS)}]
pieces = [agent.run(f'Write about this: {fact}', return_type=str) for fact in facts]
append_to_file('notes.txt', '${city}\\n')
'# ${city}\\n\\n' + '\\n'.join(pieces) + '\\n'`;

export const CITIES_LINES: readonly Line[] = [
  onTask(/^Google search population of (\w+)$/, ([, city]) => block(`google("population of ${city}")[0]["body"]`)),
  onTask(/population of \w+ in 2023 is ([\d,]+)[\s\S]*Extract population number$/, ([, number = ""]) =>
    number.replaceAll(",", ""),
  ),
  onTask(/^Introduce Shenzhen$/, () => "# Shenzhen\n\nShenzhen lies beside Hong Kong.\n"),
  onTask(/^Introduce (Chengdu)$/, ([, city = ""]) => block(introduce(city))),
  onTask(/^Write about this: [\s\S]*?(\w+ \w+) is described in many books/, ([, what]) => `All about ${what}.`),
  onGoals(({ last }) => last.includes("cities_introduction.md"), "The introductions are in cities_introduction.md."),
  onGoals(({ own }) => own.length === 0, block(PROGRAM, "python", "I ask for each city, then write the file.")),
];

/** The same, as models send it: the number with commas, and search words of their own. */
export const NATURAL_LINES: readonly Line[] = [
  onTask(/^Google search population of (\w+)$/, ([, city]) =>
    block(`results = google("official number of inhabitants in the whole metro area of ${city}")\nresults[0]["body"]`),
  ),
  onTask(/population of \w+ in 2023 is (\d[\d,]*\d)[\s\S]*Extract population number$/, ([, number = ""]) => number),
  onTask(/^Introduce (Chengdu)$/, ([, city = ""]) =>
    block(introduce(city).replace("{topic}", "{topic} for curious visitors")),
  ),
  onTask(
    /^Write about this: [\s\S]*?(\w+) (\w+) for curious visitors is described/,
    ([, city, topic]) => `RESULT:\nAll about ${city} ${topic}.`,
  ),
  ...CITIES_LINES,
];

/** Tasks of all sub-tasks, in the order of their first request. */
export const tasksOf = (seen: readonly Seen[]): readonly string[] => [
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
