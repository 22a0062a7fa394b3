/** check-schemas.ts -- the checks of goals in requests, as JSON Schema. `validateAgent` has the rules beyond the shape. */
import { type GoalCheck, type GoalTest, MAX_CHECKS } from "#core/goal-check.ts";
import { anyOf, closed, described, flag, listOf, nullable, oneOf, type Schema, typed } from "#util/schema.ts";

const text = (maxLength: number): Schema<string> => ({ type: "string", minLength: 1, maxLength });
const whole = (minimum: number, maximum: number): Schema<number> => ({ type: "integer", minimum, maximum });
const kind = <const Kind extends GoalTest["kind"]>(name: Kind): Schema<Kind> => oneOf(name) as Schema<Kind>;
const path = text(900);
const needsApproval = described(flag, "Code of an agent file: a person is asked once, where run_code asks.");

const GoalTestSchema: Schema<GoalTest> = anyOf(
  closed({ kind: kind("file"), path }),
  closed({ kind: kind("contains"), path, text: text(2_000) }),
  closed({ kind: kind("length"), path, min: described(whole(1, 10_000_000), "Characters.") }),
  closed({ kind: kind("schema"), path, schema: typed<Readonly<Record<string, unknown>>>({ type: "object" }) }),
  closed({ kind: kind("code"), code: text(32_768), needsApproval }, "needsApproval"),
  closed(
    { kind: kind("url"), url: text(2_000), status: described(whole(100, 599), "Absent: any from 200 to 299.") },
    "status",
  ),
  closed({ kind: kind("judge"), question: text(2_000), paths: listOf(path, { minItems: 1, maxItems: 10 }) }),
);

export const GoalCheckSchema: Schema<GoalCheck> = closed({
  goal: described(nullable(whole(0, 4)), "Index of the goal; null for all goals together."),
  test: GoalTestSchema,
});

export const GoalChecks = described(
  listOf(GoalCheckSchema, { maxItems: MAX_CHECKS }),
  "Prove the goals: they run when the agent reports its goals as reached. Absent: none.",
);
