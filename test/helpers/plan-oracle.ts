/**
 * plan-oracle.ts -- the tree of tasks as a mutable one, written from the rules of OpenDevin's planner.
 *
 * The oracle shares no code with core/plan.ts. Where goald is stricter (negative places, closed parents, verified before begun, limits), it throws too.
 */

const STATES = ["open", "in_progress", "completed", "verified", "abandoned"];
const CLOSED = ["completed", "verified", "abandoned"];

export interface OracleGoal {
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

export class PlanOracle {
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
