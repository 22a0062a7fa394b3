/** describe-sources.ts -- names outside sources in words, for approvals and views. Pure. */
import type { RecalledRow } from "./ports/recall.ts";
import { MORE_SOURCES, type OutsideSource, type Received } from "./provenance.ts";
import { joinNames } from "./text.ts";

/** "evil.example", "agent mole", "an unknown page". */
export function describeSource({ from, name }: OutsideSource): string {
  if (name === MORE_SOURCES) return "others";
  if (from === "web") return name || "an unknown page";
  return name === "" ? "another agent" : `agent ${name}`;
}

/** "evil.example, agent mole and 3 more". */
export function listSources(sources: readonly OutsideSource[], max = 3): string {
  return joinNames(sources.map(describeSource), max);
}

/** Completes whose words a row of memory has: what the agent had read before. Empty: nothing from outside. */
export function describeReadBefore({ trust, outside = [] }: Pick<RecalledRow, "trust" | "outside">): string {
  if (trust !== "agent" || outside.length === 0) return "";
  return `, after ${outside.some(({ from }) => from === "web") ? "the web" : "another agent"}`;
}

/** "evil.example (step 2, 2026-11-20T10:31Z) and 3 more"; the oldest first, so it also says since when. */
export function describeReceived(received: readonly Received[], max = 1): string {
  const named = received.map((source) => `${describeSource(source)} (${describeMoment(source)})`);
  return joinNames(named, max);
}

/** Minutes are exact enough to find the event. */
const describeMoment = ({ step, at }: Received): string => `step ${step}, ${at.slice(0, 16)}Z`;
