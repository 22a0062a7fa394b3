/**
 * judge_goal -- has the smart model answer a person's question about files, with a passage that proves the answer. A step of
 * check_goals: nobody else can call it. It is a call of its own, so that an answer is paid once, also when goald is killed.
 *
 * A yes counts only with a passage that is in a file, word for word. White space is not compared.
 */
import { defineCommand, fail, succeed, type Workspace } from "#core/command.ts";
import { formatSize, oneLine } from "#core/text.ts";
import { closed, flag, type Static, text } from "#util/schema.ts";

/** Limit of all files together. The model's context may be smaller. */
const MAX_BYTES = 1024 * 1024;
/** A shorter passage is in almost any file, so it must be the whole of one. */
const MIN_PASSAGE_CHARS = 12;
const MAX_QUOTE_CHARS = 200;
const MAX_REASON_CHARS = 250;

const JUDGEMENT = closed({ passes: flag, passage: text, reason: text });

interface JudgedFile {
  readonly path: string;
  readonly text: string;
}

export default defineCommand({
  name: "judge_goal",
  label: "Judge goal",
  group: "loop",
  summary: "has a model answer a question about files.",
  isInternal: true,
  args: {
    type: "object",
    properties: { question: { type: "string" }, files: { type: "array", items: { type: "string" } } },
    required: ["question", "files"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  effect: "pure",
  timeoutMs: 600_000,
  needs: ["advisor"],

  async run({ question, files }, { workspace, use, signal }) {
    const read = await readFiles(files, workspace);
    if (typeof read === "string") return fail("not-judged", read);
    const material = [
      { label: "The question", text: question },
      ...read.map((file) => ({ label: `The file ${file.path}`, text: file.text })),
    ];
    const asked = { role: "smart", words: "judge", material, schema: JUDGEMENT } as const;
    const { value } = await use("advisor").ask(asked, signal);
    const { passes, passage, reason } = value as Static<typeof JUDGEMENT>;
    const said = `It says: ${oneLine(reason, MAX_REASON_CHARS)}`;
    if (!passes) return fail("judged-no", `The model that judges says no. ${said}`, { source: "model" });
    const quoted = JSON.stringify(oneLine(passage, MAX_QUOTE_CHARS));
    const proving = read.find((file) => holds(file.text, passage));
    if (proving) return succeed(`${proving.path} says: ${quoted} ${said}`, { source: "model" });
    const problem = `The model that judges says yes, but the passage that it cites is in none of the files: ${quoted}.`;
    const advice = "Write what the question asks for so that one passage shows it.";
    return fail("no-evidence", `${problem} ${advice} ${said}`, { source: "model" });
  },
});

/** Returns why they cannot be judged, as a sentence. */
async function readFiles(paths: readonly string[], workspace: Workspace): Promise<readonly JudgedFile[] | string> {
  const files: JudgedFile[] = [];
  let bytes = 0;
  for (const path of new Set(paths)) {
    const found = await workspace.stat(path);
    if (!found) return `There is no file ${JSON.stringify(path)} to judge. Write it.`;
    bytes += found.bytes;
    if (bytes > MAX_BYTES)
      return `The files to judge are too long: with ${found.path} they have ${formatSize(bytes)}, and ${formatSize(MAX_BYTES)} are allowed. Shorten them.`;
    const content = await workspace.read(found.path);
    if (content.includes(0)) return `${found.path} holds binary data, and a model judges only text.`;
    files.push({ path: found.path, text: new TextDecoder().decode(content) });
  }
  if (files.length === 0) return "The check names no file to judge. A person can correct it.";
  if (files.every((file) => file.text.trim() === ""))
    return `${files.map(({ path }) => path).join(", ")} ${files.length === 1 ? "is" : "are"} empty.`;
  return files;
}

function holds(file: string, passage: string): boolean {
  const [whole, wanted] = [foldSpace(file), foldSpace(passage)];
  return wanted.length >= MIN_PASSAGE_CHARS ? whole.includes(wanted) : wanted !== "" && wanted === whole;
}

const foldSpace = (words: string): string => words.replace(/\s+/g, " ").trim();
