import type { CommandContext } from "#core/command.ts";
import { download, method, observe } from "./_service.ts";

export default {
  ...method({
    name: "download_image",
    summary: "downloads the picture at the given address and returns its path.",
    args: { url: { type: "string", description: "address of the picture" } },
    returns: { type: "string", description: "path of the picture" },
  }),
  annotations: { readOnly: false, destructive: false, idempotent: true, openWorld: true },
  sends: ["url"],
  effect: "idempotent",

  async run({ url }: { readonly url: string }, { workspace, signal, callId }: CommandContext) {
    const path = `pictures/${callId}.png`;
    await workspace.write(path, await download(url, signal));
    return observe(path, [path]);
  },
};
