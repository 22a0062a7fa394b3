/**
 * scenarios.ts -- the replies of the model server: thoughts, and one append to a file. They are the same in every run.
 *
 * In `words` the thoughts have about 400 characters and the append 60, and the words differ from step to step. In `notes`
 * and `csv` the steps differ only in numbers: `notes` appends a line with three numbers, `csv` 30 rows with three numbers each.
 */
export const SCENARIOS = ["words", "notes", "csv"] as const;
export type Scenario = (typeof SCENARIOS)[number];

const WORDS = (
  "harbour ledger copper violin meadow signal lantern budget garden orbit canvas pepper ladder mirror winter engine " +
  "letter market needle oyster pencil quarry ribbon saddle temple turbine valley window yellow zipper anchor basket " +
  "candle dragon ember forest glacier hammer island jacket kernel lemon magnet novel onion pocket river silver tunnel"
).split(" ");
const CSV_ROWS = 30;

/** Returns the reply of a step. */
export const replyOf = (scenario: Scenario, step: number): string => JSON.stringify(REPLIES[scenario](step));

const REPLIES: Readonly<Record<Scenario, (step: number) => object>> = {
  words(step) {
    const draw = drawFrom(step);
    const say = (count: number) => Array.from({ length: count }, () => WORDS[draw(WORDS.length)]).join(" ");
    const thoughts = {
      text: `Step ${step}: ${say(14)}.`,
      reasoning: `${say(13)}.`,
      plan: `- ${say(6)}\n- ${say(6)}`,
      criticism: `${say(6)}.`,
      speak: `${say(7)}.`,
    };
    return append(thoughts, "log.txt", `${step} ${say(9)}`.slice(0, 59).concat("\n"));
  },

  notes(step) {
    const draw = drawFrom(step);
    const text = `Note ${step}: tank ${draw(40)} holds ${draw(10_000)} litres at ${draw(90)} degrees.\n`;
    return append(think(`Step ${step}: I note the next reading of the tanks.`), "notes.txt", text);
  },

  csv(step) {
    const draw = drawFrom(step);
    const rows = Array.from({ length: CSV_ROWS }, () => `${draw(100_000)},${draw(1_000)},${draw(1_000)}\n`);
    return append(think(`Step ${step}: I add the next ${CSV_ROWS} rows.`), "readings.csv", rows.join(""));
  },
};

const think = (text: string) => ({
  text,
  reasoning: "The readings have to be complete, so none may be left out.",
  plan: "- add the next readings\n- go on until all are in the file",
  criticism: "I have to keep the format of the file.",
  speak: "I go on with the readings.",
});

const append = (thoughts: object, file: string, text: string): object => ({
  thoughts,
  command: { name: "append_to_file", args: { file, text } },
});

/** Returns a function that draws whole numbers below a limit: a linear congruential generator (Numerical Recipes). */
function drawFrom(seed: number): (limit: number) => number {
  let value = seed;
  return (limit) => {
    value = (Math.imul(value, 1664525) + 1013904223) >>> 0;
    return Math.floor((value / 2 ** 32) * limit);
  };
}
