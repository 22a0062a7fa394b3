import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { RecordedEvent } from "#core/event.ts";
import { evolve, replay } from "#core/evolve.ts";
import { startPlan } from "#core/evolve-turn.ts";
import { currentTask, listTasks, MAX_PLAN_DEPTH, MAX_TASKS, type NewTask, type TaskState } from "#core/plan.ts";
import type { AgentState } from "#core/state.ts";
import { openPlan } from "#loop/loop-services.ts";
import * as given from "../helpers/events.ts";
import { log } from "../helpers/events.ts";
import { cases } from "../helpers/waits.ts";

const place = fc.constantFrom("0", "1", "2", "-1", "x", "01", "", "9");
const anyId = fc.tuple(fc.constantFrom("0", "0", "0", "1", ""), fc.array(place, { maxLength: 4 }));
/** A number stands for a task that exists then. */
const id = fc.oneof(
  { weight: 5, arbitrary: fc.nat(1_000) },
  anyId.map(([first, rest]) => [first, ...rest].join(".")),
);
const goal = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom("a", "b c", "d\u0000e") },
  fc.constantFrom(" ", "x".repeat(501)),
);
const task = fc.letrec<{ task: NewTask; leaf: NewTask }>((tie) => ({
  leaf: fc.record({ goal }),
  task: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    tie("leaf"),
    fc.record({ goal, subtasks: fc.array(tie("task"), { maxLength: 3 }) }),
  ),
})).task;
const STATES = ["open", "in_progress", "completed", "verified", "abandoned"];
const change = fc.oneof(
  fc.record({ kind: fc.constant("add" as const), id, task }),
  fc.record({
    kind: fc.constant("set" as const),
    id,
    state: fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(...STATES, "in_progress", "in_progress") },
      fc.constantFrom("done", "", "toString"),
    ),
  }),
);
type Change = typeof change extends fc.Arbitrary<infer C> ? C & { readonly id: string } : never;

const created = log(given.created({ goals: ["the goal"] } as object));

/** The event that the commands record; undefined when they refuse. */
function eventOf(wanted: Change, state: AgentState): RecordedEvent | undefined {
  const by = { by: "agent", step: 1, callId: "c1" } as const;
  try {
    if (wanted.kind === "add") openPlan(state).checkAddition(wanted.id, wanted.task);
    else openPlan(state).checkChange(wanted.id, wanted.state);
  } catch (error) {
    expect(error).toMatchObject({ code: "GOALD_PLAN", message: expect.stringMatching(/^.{20,400}$/su) });
    return undefined;
  }
  const [event] =
    wanted.kind === "add"
      ? log({ type: "task-added", parent: wanted.id, task: wanted.task, ...by })
      : log({ type: "task-changed", id: wanted.id, state: wanted.state as TaskState, ...by });
  return event;
}

/** Whether the oracle did it. */
function follow(oracle: PlanOracle, wanted: Change): boolean {
  try {
    if (wanted.kind === "add") oracle.add(wanted.id, wanted.task, { tasks: MAX_TASKS, depth: MAX_PLAN_DEPTH });
    else oracle.set(wanted.id, wanted.state);
    return true;
  } catch {
    return false;
  }
}

describe("a plan after any changes, valid and invalid", () => {
  it("is that of an independent tree, and refuses what that refuses", () => {
    let [made, refused] = [0, 0];
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40, size: "max" }), (changes) => {
        const oracle = new PlanOracle("the goal");
        let state = replay(created);
        for (const drawn of changes) {
          const ids = listTasks(startPlan(state)).map((placed) => placed.id);
          const wanted = { ...drawn, id: typeof drawn.id === "string" ? drawn.id : String(ids[drawn.id % ids.length]) };
          const event = eventOf(wanted, state);
          expect([wanted, event !== undefined]).toEqual([wanted, follow(oracle, wanted)]);
          if (event) state = evolve(state, event);
          else refused++;
          made++;
          const plan = startPlan(state);
          expect(listTasks(plan).map((placed) => `${placed.id} ${placed.task.state} ${placed.task.goal}`)).toEqual(
            oracle.root.rows,
          );
          expect(currentTask(plan)?.id ?? null).toBe(oracle.root.current?.id ?? null);
        }
      }),
      { numRuns: cases(100) },
    );
    // Control: both kinds of changes occurred.
    expect(refused).toBeGreaterThan(made / 20);
    expect(refused).toBeLessThan((made * 19) / 20);
  });
});

// The tree of tasks as a mutable one, written from the rules of OpenDevin's planner.
//
// The oracle shares no code with core/plan.ts. Where goald is stricter (negative places, closed parents, verified
// before begun, limits), it throws too.

const CLOSED = ["completed", "verified", "abandoned"];

interface OracleGoal {
  readonly goal: string;
  readonly subtasks?: readonly OracleGoal[];
}

class OracleTask {
  readonly id: string;
  readonly goal: string;
  readonly parent: OracleTask | null;
  readonly subtasks: OracleTask[] = [];
  state = "open";

  constructor(parent: OracleTask | null, { goal, subtasks = [] }: OracleGoal) {
    this.id = parent === null ? "0" : `${parent.id}.${parent.subtasks.length}`;
    this.parent = parent;
    this.goal = goal;
    for (const subtask of subtasks) this.subtasks.push(new OracleTask(this, subtask));
  }

  setState(state: string): void {
    if (!STATES.includes(state)) throw new Error(`no state: ${state}`);
    this.state = state;
    if (CLOSED.includes(state)) {
      for (const subtask of this.subtasks) if (subtask.state !== "abandoned") subtask.setState(state);
    } else if (state === "in_progress") {
      this.parent?.setState(state);
    }
  }

  /** Below this one: open, and nothing of it was ever more. */
  get hasUnbegun(): boolean {
    const left = this.subtasks.filter(({ state }) => state !== "abandoned");
    return left.some((task) => {
      const isLeaf = task.subtasks.filter(({ state }) => state !== "abandoned").length === 0;
      return (isLeaf && task.state === "open") || task.hasUnbegun;
    });
  }

  get current(): OracleTask | null {
    for (const subtask of this.subtasks) if (subtask.state === "in_progress") return subtask.current;
    return this.state === "in_progress" ? this : null;
  }

  get rows(): readonly string[] {
    return [`${this.id} ${this.state} ${this.goal}`, ...this.subtasks.flatMap((subtask) => subtask.rows)];
  }
}

class PlanOracle {
  readonly root: OracleTask;

  constructor(goal: string) {
    this.root = new OracleTask(null, { goal });
  }

  find(id: string): OracleTask {
    const [first, ...places] = id.split(".").map((part) => {
      const place = Number(part);
      if (String(place) !== part || !Number.isInteger(place) || place < 0) throw new Error(`no place: ${part}`);
      return place;
    });
    if (first !== 0) throw new Error(`not below 0: ${id}`);
    let task = this.root;
    for (const place of places) {
      const next = task.subtasks[place];
      if (!next) throw new Error(`no task: ${id}`);
      task = next;
    }
    return task;
  }

  set(id: string, state: string): void {
    const task = this.find(id);
    if (state === "verified" && task.hasUnbegun) throw new Error("never begun");
    task.setState(state);
  }

  add(parentId: string, given: OracleGoal, most: { readonly tasks: number; readonly depth: number }): void {
    const parent = this.find(parentId);
    if (CLOSED.includes(parent.state)) throw new Error("closed");
    const added = new OracleTask(parent, given);
    if (this.root.rows.length + added.rows.length > most.tasks) throw new Error("too many");
    if (added.rows.some((row) => (row.split(" ")[0] ?? "").split(".").length > most.depth + 1))
      throw new Error("too deep");
    if (flatten(given).some(({ goal }) => goal.trim() === "" || goal.trim().length > 500)) throw new Error("no goal");
    parent.subtasks.push(added);
  }
}

const flatten = (given: OracleGoal): readonly OracleGoal[] => [given, ...(given.subtasks ?? []).flatMap(flatten)];
