/** unreadable.ts -- the fixed reasons for which a page cannot be read, so that a message has no words of a page. */

/** Maximum memory of a reader. */
export const MEMORY_MEGABYTES = 512;

const SENTENCES = {
  locked: "The PDF is locked with a password.",
  damaged: "The PDF is damaged and cannot be read.",
  broken: "It could not be taken apart.",
  memory: `It needed more than ${MEMORY_MEGABYTES} MB of memory.`,
} as const;

export type PageProblem = keyof typeof SENTENCES;

export const isPageProblem = (value: unknown): value is PageProblem =>
  typeof value === "string" && Object.hasOwn(SENTENCES, value);

export const explainProblem = (problem: PageProblem): string => SENTENCES[problem];

export const unreadable = (problem: PageProblem): Error => Object.assign(new Error(problem), { problem });

export function problemOf(error: unknown): PageProblem {
  if (isOutOfMemory(error)) return "memory";
  const { problem } = Object(error) as { readonly problem?: unknown };
  return isPageProblem(problem) ? problem : "broken";
}

/** pdf.js passes errors on with their message alone. */
export const isOutOfMemory = (error: unknown): boolean =>
  /allocation failed|out of memory|Invalid (?:typed )?array (?:buffer )?length/i.test(
    String((error as { message?: unknown } | null)?.message),
  );
