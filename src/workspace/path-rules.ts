/**
 * path-rules.ts -- what a path may look like, judged by its text alone.
 *
 * `normalizePath` turns what a model wrote into one plain form: relative to the agent's
 * folder, forward slashes, no `.` or `..`, the empty text for the folder itself. The
 * rules are the same on every system, so that work can be carried from one to another
 * and a name that is harmless here is not a device there. What really lies at a path is
 * not known here: resolve-path.ts looks, and follows no link.
 */
import { GoaldError } from "#core/errors.ts";

/** Written by goald alone; commands may read what lies there. */
const OWN_FOLDER = "_goald";
/** Of the agents that it starts; see store/slug.ts. */
const AGENTS_FOLDER = "agents";
/** In UTF-8; what common file systems take for one name. */
const MAX_NAME_BYTES = 255;
/** In UTF-8, for the whole relative path: the smallest limit for absolute ones in use is 1,024, and the folder needs room. */
const MAX_PATH_BYTES = 900;
/** As it was written, with the absolute path of the folder and all detours: more is not even taken apart. */
const MAX_WRITTEN_CHARS = 16_384;

/**
 * C0, DEL and C1; line and paragraph separators; marks that turn the direction of text and so disguise a name; and what
 * stands for a character that could not be kept, such as the NUL of a reply.
 */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffd]/u;
/** Device names of Windows, with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$|clock\$) *(?:\..*)?$/i;
/** A temporary file of an unfinished write. */
const TEMPORARY = /^\.goald-[0-9a-f]+\.tmp$/i;
/** As addresses write them in lower case, also in the overlong forms that some decoders take. */
const DECODED: Readonly<Record<string, string>> = {
  "%25": "%",
  "%2e": ".",
  "%2f": "/",
  "%5c": "\\",
  "%c0%ae": ".",
  "%c0%af": "/",
  "%c1%9c": "\\",
};
const ENCODED = new RegExp(Object.keys(DECODED).join("|"), "g");
/** Slashes, and what only looks like one. */
const SLASH = /[/\\\u2044\u2215\u2216\u29f5\u29f8\u29f9]/u;
const HOME = /^~[\w.-]*(?:\/|$)/;

const RELATIVE = "Use a relative path inside the workspace, such as notes/plan.md.";

/** Throws GOALD_PATH_REFUSED. `folder` is the absolute path of the workspace: names that begin with it are understood. */
export function normalizePath(path: string, folder: string): string {
  if (path === newest.path && folder === newest.folder) return newest.normal;
  const normal = normalize(path, folder);
  newest = { path, folder, normal };
  return normal;
}

/** A command asks for its file several times. */
let newest: { readonly path: string; readonly folder: string; readonly normal: string } = {
  path: "",
  folder: "",
  normal: "",
};

function normalize(path: string, folder: string): string {
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

/** Whether a file that lies below the folder can be named: what cannot is not listed either. */
export const isNameable = (path: string): boolean =>
  path.isWellFormed() &&
  !CONTROL.test(path) &&
  !path.includes("\\") &&
  Buffer.byteLength(path) <= MAX_PATH_BYTES &&
  path.split("/").every((name) => problemOfName(name) === undefined);

export const isTemporary = (name: string): boolean => TEMPORARY.test(name);
export const temporaryName = (randomHex: string): string => `.goald-${randomHex}.tmp`;

/**
 * Case and invisible characters do not count: some file systems ignore them. Takes a normal path. The folders of agents
 * that the agent has started, `agents/<id>`, have one each.
 */
export function isOwn(path: string): boolean {
  const names = path.split("/").map(folded);
  let first = 0;
  while (names[first] === AGENTS_FOLDER && names.length > first + 2) first += 2;
  return names[first] === OWN_FOLDER;
}

const folded = (name: string): string =>
  name
    .normalize("NFKC")
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .toLowerCase();

/** Of git itself, in whatever folder, by the names that some file system takes for its own. */
const isOfGit = (path: string): boolean => path.split("/").some((name) => /^(?:\.git|git~1)$/.test(folded(name)));

/**
 * Throws GOALD_PATH_REFUSED for a change below goald's own folder, and of what git keeps: a hook or a setting there is
 * a program that whoever next calls git in that folder runs.
 */
export function refuseChange(path: string): void {
  const reserved = isOwn(path) ? "goald" : isOfGit(path) ? "git" : undefined;
  if (reserved === undefined) return;
  const hint =
    reserved === "goald" ? "Choose another folder for your own files." : "Change the files of the repository itself.";
  throw refused(path, `belongs to ${reserved}: it can be read but not changed`, hint);
}

/** Of marks without width and blanks alone. */
const isUnseen = (name: string): boolean => /[\u0080-\uffff]/.test(name) && folded(name).trim() === "";

/**
 * Whether a name would be a step out of its folder, or a path from the root, as soon as a server decodes it, a file
 * system folds it, or a person reads it: `%2e%2e`, `..%2fx`, `．．`, `..∕x`.
 */
function isStepInDisguise(name: string): boolean {
  if (!/[%\u0080-\uffff]/.test(name)) return false;
  let plain = folded(name);
  for (let coded = ""; coded !== plain; ) {
    coded = plain;
    plain = coded.replace(ENCODED, (code) => DECODED[code] ?? code);
  }
  const [first, ...more] = plain.split(SLASH);
  return (first === "" && more.length > 0) || [first, ...more].some((step) => step === "." || step === "..");
}

export function refused(path: string, problem: string, hint: string): GoaldError {
  return new GoaldError("GOALD_PATH_REFUSED", `The path ${quoted(path)} ${problem}.`, { hint });
}

/** A path as it may stand in a message: short, on one line, nothing invisible in it. */
export function quoted(path: string): string {
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
  if (DEVICE.test(name)) return { text: "has a name that Windows keeps for a device", hint };
  if (isUnseen(name)) return { text: "has a name that nobody can see", hint };
  if (isStepInDisguise(name)) return { text: "has a name that other programs take for a path", hint: RELATIVE };
  if (TEMPORARY.test(name)) return { text: "has a name that goald keeps for unfinished writes", hint };
  return undefined;
}

/**
 * Models like to name their folder as they see it from outside: by its absolute path,
 * as `/workspace/…`, or as `workspace/<agent>/…`. All three are taken for what is
 * meant. `./workspace/…` is a way to say that such a folder inside is meant.
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
