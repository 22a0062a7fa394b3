import type { CommandContext } from "#core/command.ts";
import { readPng, redraw, writePng } from "./_picture.ts";
import { observe } from "./_service.ts";

export default {
  name: "shrink_image",
  summary: "shrinks (resizes) the given picture by the given ratio, and returns the path of the new one.",
  listed: false,
  args: {
    type: "object",
    properties: {
      image: { type: "string", description: "path of a picture" },
      ratio: { type: "number", description: "such as 0.5 for half the size" },
    },
    required: ["image", "ratio"],
  },
  returns: { type: "string", description: "path of the picture" },
  annotations: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  effect: "idempotent",

  async run(
    { image, ratio }: { readonly image: string; readonly ratio: number },
    { workspace, callId }: CommandContext,
  ) {
    const path = `pictures/${callId}.png`;
    const old = readPng(await workspace.read(image));
    const [width, height] = [old.width, old.height].map((size) => Math.max(1, Math.round(size * ratio))) as [
      number,
      number,
    ];
    const made = redraw(old, width, height, (x, y) => [Math.floor(x / ratio), Math.floor(y / ratio)]);
    await workspace.write(path, writePng(made));
    return { ...observe(path, [path]), source: "workspace" };
  },
};
