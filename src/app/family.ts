/** main-family.ts -- the composition of what an agent may know and start of other agents: a page of the root. */
import type { AgentRow } from "#core/ports/agent.ts";
import type { SubagentParts } from "#loop/subagent-calls.ts";
import { priceOf } from "#model/prices.ts";
import { freeSlug } from "#store/slug.ts";
import { stateOf } from "#views/load-agent.ts";
import type { Host } from "./main.ts";

/** What it may know and start of other agents. */
export function subagentPartsOf(
  { settings, store, catalogue: { prices } }: Host,
  row: AgentRow,
  isTaped: boolean,
): SubagentParts {
  const { answerSeconds, ...rules } = settings.agents;
  const { fast, smart } = settings.models;
  // With a budget, a model whose price nobody knows could not ask anything.
  const isPriced = (model: string): boolean => priceOf(model, settings.openai.baseUrl, prices) !== undefined;
  const model = isPriced(smart) && !isPriced(fast) ? null : fast;
  return {
    rules: { ...rules, model },
    answerMs: answerSeconds * 1_000,
    refusal: isTaped ? "An agent whose run is recorded cannot start others: what they do is not recorded." : null,
    freeId: async (name) => {
      const taken = new Set((await store.agents()).map(({ id }) => id));
      return freeSlug(`${row.id} ${name}`, (id) => taken.has(id));
    },
    stateOf: async (id) => ((await store.agent(id)) ? stateOf(store, { id }) : undefined),
  };
}
