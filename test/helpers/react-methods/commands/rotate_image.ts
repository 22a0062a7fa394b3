import { redraw, redrawing } from "./_picture.ts";

export default redrawing(
  {
    name: "rotate_image",
    summary: "rotates the given picture by quarter turns, and returns the path of the new one.",
    args: {
      image: { type: "string", description: "path of a picture" },
      degrees: { type: "number", description: "90, 180 or 270, clockwise" },
    },
  },
  (old, { degrees = 0 }) => {
    const isTurned = degrees % 180 !== 0;
    const [width, height] = isTurned ? [old.height, old.width] : [old.width, old.height];
    return redraw(old, width, height, (x, y) => {
      if (degrees === 90) return [y, old.height - 1 - x];
      if (degrees === 180) return [old.width - 1 - x, old.height - 1 - y];
      return degrees === 270 ? [old.width - 1 - y, x] : [x, y];
    });
  },
);
