/** describe-code.ts -- the code of a call as a person reads it before approving it: whole, with line numbers. */
import { countNoun } from "#core/text.ts";
import { numberCode } from "#util/number-code.ts";

export interface ShownCode {
  readonly file: string | null;
  readonly sha256: string | null;
  readonly text: string;
}

/**
 * Lines of text. `maxLines`: further lines are counted, not shown.
 */
export function describeCode(
  { file, sha256, text }: ShownCode,
  maxLines = Number.POSITIVE_INFINITY,
): readonly string[] {
  const name = file === null ? "" : ` of ${JSON.stringify(file)}`;
  if (file !== null && sha256 === null) return [`The code${name} could not be read, so it will not be run.`];
  const lines = numberCode(text);
  const shown = lines.slice(0, maxLines);
  const hash = sha256 === null ? "" : `, sha256 ${sha256.slice(0, 12)}`;
  return [
    `The code that would run${name} (Python, ${countNoun(lines.length, "line")}${hash}):`,
    ...shown.map((line) => `  ${line}`),
    ...(lines.length > shown.length ? [`  … ${countNoun(lines.length - shown.length, "more line")}`] : []),
  ];
}
