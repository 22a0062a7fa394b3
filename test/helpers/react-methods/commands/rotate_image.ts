import type { CommandContext } from "#core/command.ts";
import { readPng, redraw, writePng } from "./_picture.ts";
import { observe } from "./_service.ts";

export default {
  name: "rotate_image",
  summary: "rotates the given picture by quarter turns, and returns the path of the new one.",
  listed: false,
  args: {
    type: "object",
    properties: {
      image: { type: "string", description: "path of a picture" },
      degrees: { type: "number", description: "90, 180 or 270, clockwise" },
    },
    required: ["image", "degrees"],
  },
  returns: { type: "string", description: "path of the picture" },
  annotations: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  effect: "idempotent",

  async run(
    { image, degrees }: { readonly image: string; readonly degrees: number },
    { workspace, callId }: CommandContext,
  ) {
    const path = `pictures/${callId}.png`;
    const old = readPng(await workspace.read(image));
    const isTurned = degrees % 180 !== 0;
    const [width, height] = isTurned ? [old.height, old.width] : [old.width, old.height];
    const made = redraw(old, width, height, (x, y) => {
      if (degrees === 90) return [y, old.height - 1 - x];
      if (degrees === 180) return [old.width - 1 - x, old.height - 1 - y];
      return degrees === 270 ? [old.width - 1 - y, x] : [x, y];
    });
    await workspace.write(path, writePng(made));
    return { ...observe(path, [path]), source: "workspace" };
  },
};
