/** number-series.ts -- rows of a series: texts that differ only in their numbers. */

const NUMBER = /\d+(?:[.,:]\d+)*/g;

/** The text without its numbers, in one case and with single blanks. Equal for rows of one series. */
export const formOfSeries = (text: string): string =>
  text.toLowerCase().replace(NUMBER, "#").replace(/\s+/g, " ").trim();

export const numbersIn = (text: string): readonly string[] => text.match(NUMBER) ?? [];

/** Returns the numbers of each text that are not the same in all. The texts must have one form. */
export function changingNumbers(texts: readonly string[]): readonly (readonly string[])[] {
  const numbers = texts.map(numbersIn);
  const [first = []] = numbers;
  const changes = first.map((number, at) => numbers.some((others) => others[at] !== number));
  return numbers.map((own) => own.filter((_number, at) => changes[at]));
}

/** Rows in which more numbers change are not a series of values. */
const MAX_CHANGING_NUMBERS = 6;

/** Whether the texts, which must have one form, differ in few enough numbers to be listed as a series. */
export const isSeries = (texts: readonly string[]): boolean =>
  (changingNumbers(texts)[0] ?? []).length <= MAX_CHANGING_NUMBERS;
