/** repeat-downloads.ts -- downloads one file many times, and looks at what stays in the folder and in the temporary folder. */
import { mkdir, readdir } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { join } from "node:path";

/** Every second answer breaks off. */
export async function repeatDownloads(
  { home, folder }: { readonly home: string; readonly folder: string },
  count: number,
  download: () => Promise<unknown>,
  answerWith: (listener: RequestListener) => void,
): Promise<{ readonly folder: readonly string[]; readonly temporary: readonly string[] }> {
  const [temporary, kept] = [join(home, "tmp"), process.env.TMPDIR];
  await mkdir(temporary);
  process.env.TMPDIR = temporary;
  let answers = 0;
  answerWith((_request, response) => {
    if (++answers % 2 === 1) response.end(`${answers}`);
    else response.writeHead(200, { "content-length": "10" }).write("half", () => response.destroy());
  });
  try {
    for (let at = 0; at < count; at++) await download();
    if (answers < count) throw new Error(`Expected ${count} answers, found ${answers}.`);
    return { folder: await readdir(folder), temporary: await readdir(temporary) };
  } finally {
    if (kept === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = kept;
  }
}
