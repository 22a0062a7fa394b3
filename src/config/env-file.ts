/**
 * env-file.ts -- reads a home's `.env`, and saves a key in it that a person pasted. Its variables are returned as
 * values and never put into this process: a line such as NODE_OPTIONS=… has no effect.
 */
import { isDeepStrictEqual } from "node:util";
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { readConfigFile, replacePrivateFile, withFileLock } from "./private-file.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * `isOpen`: other users can read the file. `withoutSign`: first words of lines that have no `=` behind them, such as
 * `OPENAI_API_KEY sk-1`. A missing file reads as an empty one. Throws GOALD_CONFIG for an unreadable one.
 */
export async function readEnvFile(path: string) {
  const { text = "", mode = 0 } = (await readConfigFile(path)) ?? {};
  const withoutSign = text.match(/(?<=^[ \t]*(?:export[ \t]+)?)\w+(?=(?:[ \t]+[^\s=].*)?$)/gm) ?? [];
  return { variables: await parseVariables(text), isOpen: (mode & 0o077) !== 0, withoutSign };
}

/**
 * Sets one variable, keeps every other line, and leaves the file with mode 0600. Throws GOALD_CONFIG when the file
 * cannot be written or no line can hold the value.
 */
export async function saveToEnvFile(path: string, name: string, value: string): Promise<void> {
  const hint = `Set ${name} in the environment instead.`;
  try {
    await withFileLock(path, async () => {
      const text = (await readConfigFile(path))?.text ?? "";
      const changed = await setVariable(text, name, value);
      if (changed === undefined)
        throw new GoaldError("GOALD_CONFIG", `The value of ${name} cannot be written as a line of ${path}.`, { hint });
      await replacePrivateFile(path, changed);
    });
  } catch (cause) {
    if (isGoaldError(cause)) throw cause;
    const message = `${name} could not be saved in ${path}: ${toError(cause).message}.`;
    throw new GoaldError("GOALD_CONFIG", message, { hint, cause });
  }
}

async function parseVariables(text: string): Promise<Environment> {
  if (text === "") return {};
  const { parse } = await import("dotenv");
  return parse(text);
}

/** Returns the first changed text that reads back with this one change; undefined when there is none. */
async function setVariable(text: string, name: string, value: string): Promise<string | undefined> {
  const expected = { ...(await parseVariables(text)), [name]: value };
  for (const candidate of [await replaceLine(text, name, value), addLine(text, name, value)])
    if (candidate !== undefined && isDeepStrictEqual(await parseVariables(candidate), expected)) return candidate;
  return undefined;
}

/** Replaces a line only if it holds the whole value; a line that opens a quote for several lines stays. */
async function replaceLine(text: string, name: string, value: string): Promise<string | undefined> {
  const line = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=.*$`, "gm");
  const [found, second] = text.match(line) ?? [];
  if (found === undefined || second !== undefined) return undefined;
  if ((await parseVariables(found))[name] !== (await parseVariables(text))[name]) return undefined;
  return text.replace(line, () => formatLine(name, value));
}

function addLine(text: string, name: string, value: string): string {
  const separator = text === "" || text.endsWith("\n") ? "" : "\n";
  return `${text}${separator}${formatLine(name, value)}\n`;
}

/** Without quotes where the value reads back the same, else in quotes that it does not contain. */
function formatLine(name: string, value: string): string {
  if (/^[\w.+/=:@-]+$/.test(value)) return `${name}=${value}`;
  const quote = ["'", "`"].find((mark) => !value.includes(mark)) ?? '"';
  return `${name}=${quote}${value}${quote}`;
}
