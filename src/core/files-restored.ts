/** files-restored.ts -- a restoration of files by a person: its record in the log, and how the agent reads of it. Pure. */
import type { At } from "./fold.ts";
import { withMessageForAll } from "./fold.ts";
import type { AgentState } from "./state.ts";

/** A person restored files of the agent. */
export interface FilesRestored {
  readonly type: "files-restored";
  /** The files are as they were after this step. */
  readonly toStep: number;
  /** The first ones, up to MAX_CHANGES. */
  readonly changes: readonly { readonly path: string; readonly change: "written" | "removed" }[];
  /** Number of further changes. */
  readonly more: number;
}

export const MAX_CHANGES = 100;

/** The plan, the turn and memories stay as they are; approvals that a person gave ahead end. */
export function filesRestored(state: AgentState, event: FilesRestored & At): AgentState {
  const text = describeRestored(event);
  const message = { kind: "feedback", from: "goald", status: null, source: "goald", step: state.step, text } as const;
  return withMessageForAll({ ...state, grantedApprovals: 0, refusals: 0 }, event, message);
}

const SAYS = { written: "Rewritten", removed: "Removed" } as const;

export function describeRestored({ toStep, changes, more }: Omit<FilesRestored, "type">): string {
  const head = `A person put files in your folder back as they were after step ${toStep}.`;
  const lists = Object.entries(SAYS).flatMap(([change, word]) => {
    const paths = changes.filter((entry) => entry.change === change).map(({ path }) => path);
    return paths.length === 0 ? [] : [`${word}: ${paths.join(", ")}.`];
  });
  const others = more === 0 ? [] : [`And ${more} more.`];
  return [head, ...lists, ...others, "Your plan is unchanged. Look at these files before you rely on them."].join(" ");
}
