/** verify-view.ts -- the result of checking the stored logs. */
import type { VerifyReport } from "#core/ports/store.ts";
import { count, described, listOf, type ObjectSchema, open, type SchemasOf, text } from "#util/schema.ts";

export const VerifyView: ObjectSchema<VerifyReport> = open({
  agents: count,
  events: count,
  problems: described(listOf(text), "Each a sentence; empty means sound."),
} satisfies SchemasOf<VerifyReport>);
