/**
 * path-rules.ts -- normalizes paths and refuses unsafe ones, by their text alone.
 *
 * `normalizePath` returns one plain form: relative to the agent's folder, with forward slashes, without `.` and `..`;
 * the empty text is the folder itself. The rules are the same on every system, so that a workspace can move to another
 * one, where a name could be a device. This module reads no disk: resolve-path.ts does, and follows no links.
 */
import { GoaldError } from "#core/errors.ts";
import { foldLetters, isOfVersionControl } from "#core/guarded-files.ts";
import { AGENTS_FOLDER } from "#core/subagent.ts";
import { findUnseenMark } from "#core/text.ts";
import { decodeUrl } from "#util/web-address.ts";

/** Only goald writes there; commands may read it. */
const OWN_FOLDER = "_goald";
/** In UTF-8: the limit of common file systems. */
const MAX_NAME_BYTES = 255;
/** In UTF-8, for the relative path. The smallest system limit for absolute paths is 1,024, and the folder needs room. */
const MAX_PATH_BYTES = 900;
/** For the path as written, which may contain the absolute folder and detours. */
const MAX_WRITTEN_CHARS = 16_384;

/**
 * C0, DEL and C1; line and paragraph separators; direction marks, which disguise a name; and the replacement character,
 * which replaces the NUL of a reply.
 */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffd]/u;
/** Device names of Windows, with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$|clock\$) *(?:\..*)?$/i;
/** The temporary file of a write. */
const TEMPORARY = /^\.goald-[0-9a-f]+\.tmp$/i;
/** Slashes and characters that look like one. */
const SLASH = /[/\\\u2044\u2215\u2216\u2571\u2572\u27cb\u27cd\u29f5\u29f8\u29f9]/u;
const HOME = /^~[\w.-]*(?:\/|$)/;

const RELATIVE = "Use a relative path inside the workspace, such as notes/plan.md.";

/** `folder` is the absolute path of the workspace, which `path` may begin with. Throws GOALD_PATH_REFUSED. */
export function normalizePath(path: string, folder: string): string {
  refuseStrangeText(path);
  const names: string[] = [];
  for (const name of withoutOwnPrefix(path, folder).split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(name);
    else if (names.pop() === undefined) throw refused(path, "leads out of the workspace", RELATIVE);
  }
  for (const name of names) {
    const problem = problemOfName(name);
    if (problem) throw refused(path, problem.text, problem.hint);
  }
  const normal = names.join("/");
  if (Buffer.byteLength(normal) > MAX_PATH_BYTES) throw refused(path, "is too long", "Use a shorter path.");
  return normal;
}

/** Whether a path can express this file's name. Other files are not listed. */
export const isNameable = (path: string): boolean =>
  path.isWellFormed() &&
  !CONTROL.test(path) &&
  !path.includes("\\") &&
  Buffer.byteLength(path) <= MAX_PATH_BYTES &&
  path.split("/").every((name) => problemOfName(name) === undefined);

export const isTemporary = (name: string): boolean => TEMPORARY.test(name);

/**
 * Whether a normal path is in `_goald`, of this agent or of a sub-agent in `agents/<id>`. Case and invisible characters
 * are ignored, as some file systems do.
 */
export function isOwn(path: string): boolean {
  const names = path.split("/").map(foldLetters);
  let first = 0;
  while (names[first] === AGENTS_FOLDER && names.length > first + 2) first += 2;
  return names[first] === OWN_FOLDER;
}

/** Throws GOALD_PATH_REFUSED for changes in goald's own folder, which only goald makes (`own`), and in `.git` and its like. */
export function refuseChange(path: string, own: boolean): void {
  if (!own && isOwn(path))
    throw refused(
      path,
      "belongs to goald: it can be read but not changed",
      "Choose another folder for your own files.",
    );
  if (isOfVersionControl(path))
    throw refused(
      path,
      "belongs to git or a program like it, which runs the hooks and settings in it: it can be read but not changed",
      "Change the files of the repository itself.",
    );
}

/** Throws GOALD_PATH_REFUSED for a new file whose path holds a mark that nobody sees. Existing files can be read and deleted. */
export function refuseUnseenMarks(path: string): void {
  const mark = findUnseenMark(path);
  if (mark) throw refused(path, `holds a mark that nobody sees (${mark})`, "Write the path without the mark.");
}

/** Throws GOALD_PATH_REFUSED for a folder that contains the folders of sub-agents, which are deleted with them. */
export function refuseAgents(path: string): void {
  if (path.split("/").every((name, depth) => depth % 2 === 1 || foldLetters(name) === AGENTS_FOLDER))
    throw refused(path, "contains the files of sub-agents", "delete_agent ends a sub-agent.");
}

/** Whether a name consists of blanks and marks without width. */
const isUnseen = (name: string): boolean =>
  /[\u0080-\uffff]/.test(name) && foldLetters(name).replaceAll("\u2800", "").trim() === "";

/**
 * Whether a name would leave its folder once a server decodes it, even twice, a file system folds it, or a person reads it:
 * `%2e%2e`, `..%2fx`, `．．`, `..∕x`.
 */
function isStepInDisguise(name: string): boolean {
  if (!/[%\u0080-\uffff]/.test(name)) return false;
  const plain = foldLetters(decodeUrl(decodeUrl(foldLetters(name))));
  const steps = plain.split(SLASH);
  return (steps[0] === "" && steps.length > 1) || steps.some((step) => /^\s*\.{1,2}\s*$/.test(step));
}

export function refused(path: string, problem: string, hint: string): GoaldError {
  return new GoaldError("GOALD_PATH_REFUSED", `The path ${quotePath(path)} ${problem}.`, { hint });
}

/** Quotes a path for a message: short, on one line, invisible characters written out. */
export function quotePath(path: string): string {
  const short = path.length > 120 ? `${path.slice(0, 119)}…` : path;
  const visible = short.toWellFormed().replace(/[\p{C}\u2028\u2029]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
  return `"${visible}"`;
}

function refuseStrangeText(path: string): void {
  if (path.length > MAX_WRITTEN_CHARS) throw refused(path, "is too long", "Use a shorter path.");
  if (path.includes("\0")) throw refused(path, "contains a NUL character", RELATIVE);
  if (!path.isWellFormed() || CONTROL.test(path))
    throw refused(path, "contains control characters", "Use letters, digits, dots, dashes and underscores.");
  if (/^[a-z]+:\/\//i.test(path)) throw refused(path, "is an address", `browse_website reads web pages. ${RELATIVE}`);
  if (/^[A-Za-z]:/.test(path) || path.startsWith("\\\\")) throw refused(path, "is a Windows path", RELATIVE);
  if (path.includes("\\")) throw refused(path, "contains a backslash", `Write folders with "/". ${RELATIVE}`);
  if (HOME.test(path)) throw refused(path, 'begins with "~", which means no folder here', RELATIVE);
}

function problemOfName(name: string): { readonly text: string; readonly hint: string } | undefined {
  const hint = "Choose another name.";
  if (Buffer.byteLength(name) > MAX_NAME_BYTES)
    return { text: `has a name of more than ${MAX_NAME_BYTES} bytes`, hint: "Use a shorter name." };
  if (name.includes(":")) return { text: 'has a name with ":" in it', hint: 'Use "-" instead.' };
  if (/[. ]$/.test(name)) return { text: "has a name that ends in a dot or a space", hint };
  if (DEVICE.test(foldLetters(name))) return { text: "has a name that Windows keeps for a device", hint };
  if (isUnseen(name)) return { text: "has an invisible name", hint };
  if (isStepInDisguise(name)) return { text: "has a name that other programs take for a path", hint: RELATIVE };
  if (TEMPORARY.test(name)) return { text: "has a name that goald keeps for unfinished writes", hint };
  return undefined;
}

/**
 * Removes the workspace's own path, because models name it in three ways: by its absolute path, as `/workspace/…`, or as
 * `workspace/<agent>/…`. `./workspace/…` still names a folder of that name inside.
 */
function withoutOwnPrefix(path: string, folder: string): string {
  const root = folder.replaceAll("\\", "/").replace(/\/+$/, "");
  const steps = root.split("/");
  const home = steps.lastIndexOf("workspace");
  const own = home < 0 ? `workspace/${steps.at(-1)}` : steps.slice(home).join("/");
  for (const prefix of [root, `/${own}`, own, "/workspace"]) {
    if (prefix === "") continue;
    if (path === prefix) return "";
    if (path.startsWith(`${prefix}/`)) return path.slice(prefix.length + 1);
  }
  if (path.startsWith("/")) throw refused(path, "is absolute", RELATIVE);
  return path;
}
