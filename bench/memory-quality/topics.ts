/**
 * topics.ts -- parses the topics of the traces. A line begins with
 *   `@` purpose | search (`*`: a person said it) | finding | note's file | note     `!` purpose | command | code | failure
 *   `=` text that replaces the last finding     `?` a question; `?u` about the replacement; `?f` about the file
 */
export interface Topic {
  readonly need: string;
  readonly search: string;
  readonly found: string;
  readonly file: string;
  readonly note: string;
  readonly failure?: readonly [command: string, code: string];
  replacement?: string;
  readonly questions: (readonly [kind: string, text: string])[];
}

export function readTopics(lines: readonly string[]): Topic[] {
  const topics: Topic[] = [];
  for (const line of lines) {
    const topic = topics.at(-1);
    const [mark = "", ...rest] = line.split(" ");
    const fields = rest.join(" ").split(" | ");
    const [need = "", search = "", found = "", file = "-", note = "-"] = fields;
    if (mark === "@") topics.push({ need, search, found, file, note, questions: [] });
    else if (mark === "!") {
      const [, command = "", code = "", failure = ""] = fields;
      topics.push({ need, search: "", found: failure, file: "-", note: "-", failure: [command, code], questions: [] });
    } else if (mark === "=" && topic) topic.replacement = need;
    else if (mark.startsWith("?") && topic) topic.questions.push([mark.slice(1) || "fact", need]);
  }
  return topics;
}
