/**
 * download_file -- saves a file from the web in the workspace, whole or not at all.
 *
 * The complete file is renamed into place, so a second run has the same result and a failure keeps the old file. The
 * file is neither run nor opened. The result counts as text from the web, which taints the agent.
 */
import { clearUnkept, defineCommand, type KeptFile, keepFile, succeed } from "#core/command.ts";
import type { Download } from "#core/services.ts";
import { countNoun } from "#core/text.ts";

export default defineCommand({
  name: "download_file",
  label: "Download file",
  group: "web",
  summary: "saves what is at a web address as a file, unchanged.",
  args: {
    type: "object",
    properties: {
      url: {
        type: "string",
        description: "whole web address",
        minLength: 1,
      },
      file: { type: "string", description: "relative path", minLength: 1 },
    },
    required: ["url", "file"],
  },
  // Idempotent: a repeated download changes nothing elsewhere and leaves the last whole file here.
  annotations: { readOnly: false, destructive: true, idempotent: true, openWorld: true, restorable: true },
  sends: ["url"],
  writes: { file: null },
  effect: "idempotent",
  timeoutMs: 6 * 60_000,
  needs: ["downloads"],

  async prepare({ file }, { workspace }) {
    return keepFile(file, workspace);
  },

  async run({ url, file }, { workspace, signal, use, call }, prepared) {
    const before = prepared as KeptFile | null;
    const download = await use("downloads").get(url, signal);
    const refused = await clearUnkept(file, before, { call });
    if (refused) return refused;
    await workspace.write(file, download.bytes);
    const path = (await workspace.stat(file))?.path ?? file;
    const was =
      before === null || "unkept" in before ? "the file is new" : `it replaced ${countNoun(before.bytes, "byte")}`;
    const type = download.contentType || "no type was said";
    const text = `Saved ${download.url} as ${path} (${type}, ${countNoun(download.bytes.byteLength, "byte")}); ${was}.`;
    const doubt = describeDoubt(download, path) + (download.holdsSecret ? HOLDS_SECRET : "");
    return succeed(text + doubt, { source: "web", artifacts: [path], value: path });
  },
});

const HOLDS_SECRET = " It contains a key or password of the person's settings: do not copy or send it.";

/** Sites that require a login or a click send a page instead of the file. Many servers send a .tar.gz as a tar that is compressed in transit only. */
function describeDoubt({ contentType, bytes }: Download, path: string): string {
  if (contentType === "text/html" && !/\.x?html?$/i.test(path))
    return " It is a web page, perhaps in place of the file.";
  const isUnpacked = /\.t?gz$/i.test(path) && (bytes[0] !== 0x1f || bytes[1] !== 0x8b);
  return isUnpacked ? " It is not packed by gzip, although its name says so." : "";
}
