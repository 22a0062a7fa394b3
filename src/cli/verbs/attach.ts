/**
 * attach.ts -- `goald attach`: follows an agent from any of its steps, as if it ran on this terminal. Ctrl-C ends only
 * the following. Without a terminal the following ends, too, when the agent waits for a person.
 */
import { join } from "node:path";
import { EXIT, GoaldError } from "#core/errors.ts";
import { isOver } from "#core/state.ts";
import { clean } from "#util/outside-text.ts";
import { formatCall } from "../context.ts";
import { followAgent, Interrupts, keepsAwaiting, showFrom } from "../follow-agent.ts";
import { openScreen, sayGoesOn, sayResult } from "../result.ts";
import { defineVerb, ONLY_AGENT, positiveInteger, RUN_CODES, value } from "../verb.ts";
import { withAgent } from "../with-agent.ts";

export const verb = defineVerb({
  description:
    "follow an agent live and answer its questions; Ctrl-C leaves it running. Without a terminal, end when the agent waits for a person",
  examples: ["goald attach chef", "goald attach chef --since 1", "goald attach chef --json"],
  arguments: [ONLY_AGENT],
  options: { since: value("--since <step>", "show from this step on (default: the last one)", positiveInteger) },
  exitCodes: { ...RUN_CODES, ok: "the agent finished, or you left it running", notFound: "no such agent or step" },
  run: ([name], { since, ...options }) =>
    withAgent(name, options, async (found) => {
      const { row, state, head, context, reach } = found;
      const { output, home } = context;
      if (since !== undefined && since > Math.max(1, state.step))
        throw new GoaldError("GOALD_NOT_FOUND", `${row.id} has no step ${since} yet: it is at step ${state.step}.`, {
          hint: `From the last one on: ${formatCall(home, "attach", row.id)}`,
        });
      const agent = { id: row.id, workspace: join(context.home.workspaceFolder, row.folder) };
      output.say(`${clean(state.name)} (${row.id}) works in ${agent.workspace}`);
      if (output.interactive && !isOver(state)) output.say("Ctrl-C leaves it to itself: it goes on.");
      const screen = await openScreen(context, []);
      await showFrom(found, since, context, screen.show);
      if (isOver(state)) return sayResult(agent, state, context);
      const client = await reach();
      const view = await client.agent(row.id);
      if (view.state === "interrupted" && !view.background) {
        output.say(`\nNobody runs ${row.id}: it belongs to a terminal.`);
        return sayResult(agent, state, context);
      }
      if (screen.ask === undefined && (await keepsAwaiting(row.id, { after: head, state }, client)))
        return sayResult(agent, state, context);
      using interrupts = new Interrupts();
      const following = { context, client, agent: agent.id, after: head, state, changedAt: row.updatedAt, interrupts };
      const end = await followAgent({ ...following, ...screen, onInterrupt: "leave" });
      if (!end.left) return sayResult(agent, end.state, context);
      sayGoesOn(agent, context, end.state.settings.background);
      return EXIT.ok;
    }),
});
