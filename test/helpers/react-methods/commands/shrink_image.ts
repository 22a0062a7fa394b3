import { redraw, redrawing } from "./_picture.ts";

export default redrawing(
  {
    name: "shrink_image",
    summary: "shrinks (resizes) the given picture by the given ratio, and returns the path of the new one.",
    args: {
      image: { type: "string", description: "path of a picture" },
      ratio: { type: "number", description: "such as 0.5 for half the size" },
    },
  },
  (old, { ratio = 1 }) => {
    const sizeOf = (size: number): number => Math.max(1, Math.round(size * ratio));
    return redraw(old, sizeOf(old.width), sizeOf(old.height), (x, y) => [Math.floor(x / ratio), Math.floor(y / ratio)]);
  },
);
