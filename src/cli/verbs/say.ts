/** say.ts -- `goald say`: sends an agent a message from the command line or standard input. */
import { isFinished, questionOf } from "#core/state.ts";
import { readWords } from "../agents.ts";
import { callsHere } from "../context.ts";
import { AGENT, defineVerb, HOST_CODES, NO_AGENT } from "../verb.ts";
import { askThroughDeaths, tellDone, viewWhenHeard, withAgent } from "../with-agent.ts";

export const verb = defineVerb({
  description: "send an agent a message, which it reads in its next step; a finished agent begins its next turn",
  examples: ['goald say chef "Leave out the prices"', "goald say chef < notes.txt", 'goald say chef "Now in German"'],
  arguments: [AGENT, { name: "[words...]", about: "the message; none or - reads standard input" }],
  exitCodes: { ...NO_AGENT, ...HOST_CODES },
  run: ([name = "", ...words], options) =>
    withAgent(name, options, async ({ row, state, context, reach }) => {
      const text = await readWords(words.join(" ") === "-" ? [] : words, {
        maxChars: 100_000,
        what: "message",
        examples: `Such as: goald say ${row.id} "Leave out the prices", or: goald say ${row.id} < notes.txt`,
        tooLong: "Put it into a file in the agent's workspace and name that file.",
      });
      const client = await reach();
      const key = `say/${process.pid}/${new Date().toISOString()}`;
      const message = { from: "a person", text: context.scrub(text), key };
      const { agent, note } = await askThroughDeaths(context, () => client.say(row.id, message));
      const view = isFinished(state) || questionOf(state) !== undefined ? await viewWhenHeard(client, agent) : agent;
      return tellDone({ agent: view, note: callsHere(context.home, note) }, context);
    }),
});
