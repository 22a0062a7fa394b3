/** naive-reader.ts -- repairs the whole reply and runs the result, as is usual; the control of the measurements. */
import { jsonrepair } from "jsonrepair";
import type { CommandCall } from "#core/call.ts";
import { createCallValidator, type ReplyCatalogue } from "#reply/check-call.ts";
import { findCall } from "#reply/find-call.ts";

export function createNaiveReader(catalogue: ReplyCatalogue): (text: string) => CommandCall | null {
  const validator = createCallValidator(catalogue);
  return (text) => {
    try {
      const body = text.slice(text.search(/\{\s*"/)).replace(/(?:\n```)+$/, "");
      const value: unknown = JSON.parse(jsonrepair(body));
      const shape = findCall(
        Array.isArray(value) ? value.filter((item) => typeof item === "object") : value,
        validator.isName,
      );
      const checked = shape.kind === "call" ? validator.checkCall(shape.call, text) : null;
      return checked?.kind === "valid" ? checked.call : null;
    } catch {
      return null;
    }
  };
}
