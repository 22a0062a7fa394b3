/** show-step.ts -- `goald show --step N`: prompt, recalls, raw reply, command, result and files of one step. */
import { EXIT } from "#core/errors.ts";
import { clean } from "#util/clean.ts";
import { describeStep } from "#views/step-text.ts";
import type { GlobalOptions } from "./context.ts";
import { reading } from "./reading.ts";

export async function showStep(name: string, step: number, options: GlobalOptions): Promise<number> {
  return reading(options, async (reading, { output, redact }) => {
    const whole = await reading.step(name, step);
    output.data(redact(output.json ? JSON.stringify(whole) : clean(describeStep(whole))));
    return EXIT.ok;
  });
}
