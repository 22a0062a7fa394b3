/** ask_user -- asks the person a question; the agent waits for the answer at no cost. */
import { defineCommand, wait } from "#core/command.ts";

export default defineCommand({
  name: "ask_user",
  label: "Ask user",
  group: "people",
  summary:
    "asks the person a question and waits for the answer, however long that takes; only for what nobody else can decide.",
  args: {
    type: "object",
    properties: {
      question: {
        type: "string",
        description: "The question, with all that is needed to answer it",
        hint: "question",
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
