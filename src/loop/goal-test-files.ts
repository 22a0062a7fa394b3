/** goal-test-files.ts -- tests of files: one exists, contains a text, is long enough, or is JSON that matches a schema. */
import { toError } from "#core/errors.ts";
import type { GoalTest } from "#core/goal-check.ts";
import type { FileStat, Workspace } from "#core/ports/workspace.ts";
import { countNoun, formatSize, oneLine } from "#core/text.ts";
import { checkDocument } from "#reply/check-value.ts";
import { fails, passes, type Verdict } from "./goal-verdict.ts";

type TestOf<K extends GoalTest["kind"]> = Extract<GoalTest, { readonly kind: K }>;

/** A longer file of JSON would hold up all agents while it is parsed, and could take their memory. */
const MAX_JSON_BYTES = 4 * 1024 * 1024;
const MAX_LINE_CHARS = 120;

export async function findFile({ path }: TestOf<"file">, workspace: Workspace): Promise<Verdict> {
  const found = await workspace.stat(path);
  return found ? passes(`${found.path} has ${formatSize(found.bytes)}.`) : missing(path);
}

export async function findText({ path, text }: TestOf<"contains">, workspace: Workspace): Promise<Verdict> {
  const found = await workspace.stat(path);
  if (!found) return missing(path);
  const content = await readText(found, workspace);
  const at = content.indexOf(text);
  if (at < 0) return fails(`${describe(found)} does not contain that text. Write it there, letter for letter.`);
  const start = content.lastIndexOf("\n", at - 1) + 1;
  const [line = ""] = content.slice(Math.max(start, at - MAX_LINE_CHARS)).split("\n", 1);
  return passes(
    `Line ${countLines(content, at)} of ${found.path} has it: ${JSON.stringify(oneLine(line, 2 * MAX_LINE_CHARS))}`,
  );
}

/** The number of the line that has the character at this place. */
function countLines(content: string, place: number): number {
  let lines = 1;
  for (let next = content.indexOf("\n"); next >= 0 && next < place; next = content.indexOf("\n", next + 1)) lines++;
  return lines;
}

/** White space at both ends does not count. */
export async function checkLength({ path, min }: TestOf<"length">, workspace: Workspace): Promise<Verdict> {
  const found = await workspace.stat(path);
  if (!found) return missing(path);
  const content = (await readText(found, workspace)).trim();
  const pairs = content.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0;
  const has = `${found.path} has ${countNoun(content.length - pairs, "character")}`;
  return content.length - pairs >= min
    ? passes(`${has}.`)
    : fails(`${has}; expected at least ${min}, without white space at both ends. Write more.`);
}

export async function matchSchema({ path, schema }: TestOf<"schema">, workspace: Workspace): Promise<Verdict> {
  const found = await workspace.stat(path);
  if (!found) return missing(path);
  if (found.bytes > MAX_JSON_BYTES)
    return fails(`${describe(found)} is too long to be checked: at most ${formatSize(MAX_JSON_BYTES)}. Shorten it.`);
  const content = await readText(found, workspace);
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    return fails(`${describe(found)} is not JSON: ${toError(error).message}. Write it as JSON, and nothing else.`);
  }
  const { problem, isOfSchema } = checkDocument(schema, value);
  if (problem === undefined) return passes(`${describe(found)} matches the schema.`);
  if (isOfSchema) return fails(`The schema of this check cannot be used, and a person has to correct it: ${problem}`);
  return fails(`${found.path} does not match the schema: ${problem} Correct it.`);
}

const missing = (path: string): Verdict => fails(`There is no file ${JSON.stringify(path)}. Write it.`);
const describe = ({ path, bytes }: FileStat): string => `${path} (${formatSize(bytes)})`;

/** Without the mark at the beginning of a file. */
const readText = async ({ path }: FileStat, workspace: Workspace): Promise<string> =>
  new TextDecoder().decode(await workspace.read(path));
