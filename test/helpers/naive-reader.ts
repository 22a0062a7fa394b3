/** naive-reader.ts -- the usual way to read a reply: repair the whole, run what comes out. For comparison only. */
import { jsonrepair } from "jsonrepair";
import type { CommandCall } from "#core/call.ts";
import { shapeOf } from "#reply/shape.ts";
import { type Catalogue, createValidator } from "#reply/validate.ts";

export function createNaiveReader(catalogue: Catalogue): (text: string) => CommandCall | null {
  const validator = createValidator(catalogue);
  return (text) => {
    try {
      const body = text.slice(text.search(/\{\s*"/)).replace(/(?:\n```)+$/, "");
      const value: unknown = JSON.parse(jsonrepair(body));
      const shape = shapeOf(
        Array.isArray(value) ? value.filter((item) => typeof item === "object") : value,
        validator.isName,
      );
      const checked = shape.kind === "call" ? validator.check(shape.call, text) : null;
      return checked?.kind === "valid" ? checked.call : null;
    } catch {
      return null;
    }
  };
}
