/** edit-plan.ts -- a person's changes of an agent's plan. */
import type { Control } from "#api/control.ts";
import type { ControlResult } from "#api/schemas.ts";
import type { InboxMessage, Store } from "#core/ports/store.ts";
import { loadPlan, planEdits } from "#views/plan-view.ts";
import type { Found } from "./host-views.ts";

export interface EditPlanParts {
  readonly store: Pick<Store, "agent" | "inbox" | "load">;
  find(name: string): Promise<Found>;
  send(found: Found, message: InboxMessage, key?: string): Promise<ControlResult>;
}

/** Sends all changes as one message, or none. */
export const editPlanOf =
  ({ store, find, send }: EditPlanParts): Control["editPlan"] =>
  async (name, { edits, key }) => {
    const found = await find(name);
    const changes = planEdits(found.state, await loadPlan(found.row, store), edits);
    return { ...(await send(found, { type: "plan", edits }, key)), changes };
  };
