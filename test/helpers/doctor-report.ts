/** doctor-report.ts -- what `goald doctor --json` finds in a home. */
import { endedWith, type Goald, type StartOptions } from "./goald.ts";

export interface DoctorReport {
  readonly errors: number;
  readonly warnings: number;
  readonly findings: readonly { check: string; level: string; text: string; advice: string }[];
  readonly repaired: readonly { text: string }[];
}

/** Expects this exit code. */
export async function examine(
  goald: Goald,
  code: number,
  args: readonly string[] = [],
  env: StartOptions["env"] = {},
): Promise<DoctorReport> {
  return JSON.parse(endedWith(code, await goald.ask(["doctor", "--json", ...args], { env })).stdout) as DoctorReport;
}
export const levelOf = ({ findings }: DoctorReport, check: string): readonly string[] =>
  findings.filter((finding) => finding.check === check).map(({ level }) => level);
/** Texts and advice of a check, one a line. */
export const textOf = ({ findings }: DoctorReport, check: string): string =>
  findings.flatMap((one) => (one.check === check ? [`${one.text} ${one.advice}`] : [])).join("\n");
