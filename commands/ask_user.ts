/** ask_user -- asks the person a question; the agent waits for the answer at no cost. */
import { defineCommand, wait } from "#core/command.ts";

export default defineCommand({
  name: "ask_user",
  label: "Ask user",
  group: "people",
  summary: "asks the person and waits for the answer, however long that takes.",
  args: {
    type: "object",
    properties: {
      question: {
        type: "string",
        description: "the question, with all that is needed to answer it",
        minLength: 1,
        maxLength: 4000,
      },
    },
    required: ["question"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  effect: "pure",

  async run() {
    return wait("person", null);
  },
});
