/**
 * asked-files.ts -- the files of one call that others would run or obey (what-others-run.ts).
 *
 * The policy asks a person about those that a call names. While the command runs, `findUnasked` holds it to them.
 */
import { findInstallScripts } from "./install-scripts.ts";
import { findAskedRow } from "./what-others-run.ts";

/** Arguments that name files which the command writes. The value is the argument with the whole new content; null for none. */
export type WrittenArgs = Readonly<Record<string, string | null>>;

export interface AskedFile {
  readonly path: string;
  /** Names the program that runs or obeys the file, and when, as a sentence without its end. */
  readonly says: string;
}

/**
 * Files that a person must be asked about. A file that counts only by its content is left out while the call does not show
 * the content: `findUnasked` looks at what is really written.
 */
export function listAsked(args: Readonly<Record<string, unknown>>, writes: WrittenArgs = {}): readonly AskedFile[] {
  return Object.entries(writes).flatMap(([arg, contentArg]) => {
    const path = args[arg];
    const row = typeof path === "string" ? findAskedRow(path) : undefined;
    if (typeof path !== "string" || !row) return [];
    const content = contentArg === null ? undefined : args[contentArg];
    const isHarmless = typeof content === "string" ? findInstallScripts(content) === "" : content === undefined;
    return row.byContent && isHarmless ? [] : [{ path, says: row.says }];
  });
}

/**
 * Returns who would run a file that is about to be written and that nobody was asked about. `before` and `after` return its
 * content, and are called only when the content counts.
 */
export async function findUnasked(
  path: string,
  asked: readonly AskedFile[],
  content: { before(): Promise<string>; after(): Promise<string> },
): Promise<string | undefined> {
  const row = findAskedRow(path);
  if (!row || asked.some((file) => plain(file.path) === plain(path))) return undefined;
  if (row.byContent) {
    const scripts = findInstallScripts(await content.after());
    if (scripts === "" || scripts === findInstallScripts(await content.before())) return undefined;
  }
  return row.says;
}

const plain = (path: string): string =>
  path
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .join("/");
