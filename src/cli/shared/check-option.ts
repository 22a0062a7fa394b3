/** check-option.ts -- the short forms of checks on the command line. */
import { resolve } from "node:path";
import { MAX_CHECK_BYTES } from "#config/agent-spec.ts";
import { readTextFile } from "#config/private-file.ts";
import { GoaldError } from "#core/errors.ts";
import type { GoalCheck } from "#core/goal-check.ts";
import type { Redact } from "#util/redact.ts";
import { texts } from "../option.ts";

const FORMS = [
  "plan.md",
  "plan.md contains Conclusion",
  "plan.md min 400",
  "data.json matches schema.json",
  "python check.py",
  "url https://example.org 200",
  "judge plan.md: Does it name three sources?",
];

export const checkOption = texts(
  "--check <check>",
  `prove a goal by a check, such as ${FORMS.slice(1, 5)
    .map((form) => JSON.stringify(form))
    .join(", ")}; "2: …" is for goal 2 (docs/checks.md); repeat it`,
);

/** Throws GOALD_USAGE with all forms for a text that fits none. Files of schemas and code are read from the current folder. */
export async function readCheckOptions(given: readonly string[], goalCount: number): Promise<readonly GoalCheck[]> {
  const refuse = (problem: string, [index]: readonly (string | number)[]): GoaldError =>
    new GoaldError(
      "GOALD_USAGE",
      `--check ${JSON.stringify(given[Number(index)])}: ${problem.replace(/^check \d+: /, "")}.`,
      {
        hint: HINT,
      },
    );
  const entries = given.map((text, index) => {
    const entry = parseCheck(text);
    if (!entry) throw refuse("this is not a form of a check", [index]);
    return entry;
  });
  const { readChecks } = await import("#config/read-checks.ts");
  return readChecks({ entries, goalCount, readText, refuse });
}

const HINT = `The forms are, with 2: before one for goal 2:\n${FORMS.map((form) => `  --check ${JSON.stringify(form)}`).join("\n")}`;

async function readText(path: string): Promise<string> {
  const file = await readTextFile(resolve(path), MAX_CHECK_BYTES);
  if (!file) throw new Error("there is no such file");
  return file.text;
}

/** A path with blanks is in double quotes. */
const PATH = String.raw`(?:"(?<quoted>[^"]+)"|(?<path>[^\s"]+))`;
const SHAPES: readonly (readonly [pattern: RegExp, entryOf: (part: Parts) => object])[] = [
  [/^python\s+(?<file>\S.*)$/s, ({ file }) => ({ code_file: file })],
  [
    /^url\s+(?<url>\S+)(?:\s+(?<status>\d{3}))?$/,
    ({ url, status }) => ({ url, ...(status ? { status: Number(status) } : {}) }),
  ],
  [
    /^judge\s+(?<files>[^:]+):\s*(?<question>\S.*)$/s,
    ({ files = "", question }) => ({ judge: question, files: files.trim().split(/\s*,\s*/) }),
  ],
  [new RegExp(`^${PATH}(?:\\s+exists)?$`), ({ quoted, path }) => ({ file: quoted ?? path })],
  [
    new RegExp(`^${PATH}\\s+contains\\s+(?<text>\\S.*)$`, "s"),
    ({ quoted, path, text }) => ({ file: quoted ?? path, contains: text }),
  ],
  [
    new RegExp(`^${PATH}\\s+min\\s+(?<min>\\d{1,9})$`),
    ({ quoted, path, min }) => ({ file: quoted ?? path, min_chars: Number(min) }),
  ],
  [
    new RegExp(`^${PATH}\\s+matches\\s+(?<schema>\\S.*)$`),
    ({ quoted, path, schema }) => ({ file: quoted ?? path, schema }),
  ],
];
type Parts = Readonly<Record<string, string | undefined>>;

/** Returns an entry as an agent file has it; undefined for a text that fits no form. */
export function parseCheck(text: string): Readonly<Record<string, unknown>> | undefined {
  const [, goal, rest = ""] = /^(?:([1-9])\s*:\s+)?(.*)$/s.exec(text.trim()) ?? [];
  for (const [pattern, entryOf] of SHAPES) {
    const { groups } = pattern.exec(rest) ?? {};
    if (groups) return { ...entryOf(groups), ...(goal === undefined ? {} : { goal: Number(goal) }) };
  }
  return undefined;
}

/** The same checks without secrets in their texts. */
export const withoutSecrets = (checks: readonly GoalCheck[], scrub: Redact): readonly GoalCheck[] =>
  JSON.parse(scrub(JSON.stringify(checks)));
