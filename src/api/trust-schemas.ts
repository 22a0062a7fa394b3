/** trust-schemas.ts -- the argument and the result of `Control.trust`, as JSON Schema with TypeScript types. */
import { closed, described, listOf, nullable, oneOf, open, type Static, text } from "#util/schema.ts";
import { AgentView } from "#views/agent-view.ts";
import { OutsideSources, ReceivedView } from "#views/parts.ts";

export const Trust = closed(
  {
    what: described(oneOf("all", "files"), "`all`: all words from outside that the agent has read until now."),
    paths: listOf<string>(
      {
        ...{ type: "string", minLength: 1, maxLength: 4_096 },
        description: "A file, or a folder that came as a whole, relative to the agent's folder.",
      },
      { minItems: 1, maxItems: 100 },
    ),
  },
  "paths",
);
export type Trust = Static<typeof Trust>;

const TrustedEntry = open({
  path: described(nullable(text), "Null for all words that the agent has read."),
  outside: described(OutsideSources, "Whose words are trusted; empty when there were none."),
});
export type TrustedEntry = Static<typeof TrustedEntry>;
export const Trusted = open({
  agent: AgentView,
  note: text,
  trusted: listOf(TrustedEntry),
  received: described(listOf(ReceivedView), "For `all`: since when the agent had read them."),
});
export type Trusted = Static<typeof Trusted>;
