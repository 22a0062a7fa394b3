/**
 * say.ts -- `goald say`: sends an agent a message from the command line or standard input.
 */
import { GoaldError } from "#core/errors.ts";
import { isFinished, questionOf } from "#core/state.ts";
import { clean } from "#util/outside-text.ts";
import { readInput } from "../agents.ts";
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
      const isPiped = words.length === 0 || words.join(" ") === "-";
      const text = clean(isPiped ? await readPiped(row.id) : words.join(" ")).trim();
      if (text === "") throw usage("The message is empty.", row.id);
      if (text.length > MAX_CHARS)
        throw usage(
          `Expected up to ${MAX_CHARS} characters, got ${text.length}.`,
          row.id,
          "Put it into a file in the agent's workspace and name that file.",
        );
      const client = await reach();
      const key = `say/${process.pid}/${new Date().toISOString()}`;
      const message = { from: "a person", text: context.scrub(text), key };
      const { agent, note } = await askThroughDeaths(context, () => client.say(row.id, message));
      const view = isFinished(state) || questionOf(state) !== undefined ? await viewWhenHeard(client, agent) : agent;
      return tellDone({ agent: view, note: callsHere(context.home, note) }, context);
    }),
});

const MAX_CHARS = 100_000;

/** Throws GOALD_USAGE on a terminal, where goald would wait for input without a prompt. */
async function readPiped(agent: string): Promise<string> {
  if (process.stdin.isTTY) throw usage(`Expected a message for ${agent}.`, agent);
  // Blanks around the text do not count.
  return readInput(2 * MAX_CHARS);
}

const usage = (message: string, agent: string, hint?: string): GoaldError =>
  new GoaldError("GOALD_USAGE", message, {
    hint: hint ?? `Such as: goald say ${agent} "Leave out the prices", or: goald say ${agent} < notes.txt`,
  });
