import { describe, expect, it } from "@jest/globals";
import { endedWith, lookInto, makeGoald } from "../helpers/goald.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";

/** A command of a home with nested arguments. `labels` makes it unstrict. */
const command = (labels: string) => `export default {
  name: "plan_route",
  summary: "writes a route down.",
  args: {
    type: "object",
    properties: {
      stops: { type: "array", items: { $ref: "#/$defs/stop" }, minItems: 2 },
      by: { enum: ["foot", "train"], description: "how to travel" },
      ${labels}
    },
    required: ["stops"],
    $defs: {
      stop: {
        type: "object",
        properties: { town: { type: "string", description: "name of a town" }, nights: { type: "integer", minimum: 0 } },
        required: ["town"],
      },
    },
  },
  annotations: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  effect: "idempotent",
  async run({ stops, by = "foot" }: { stops: { town: string; nights?: number }[]; by?: string }, { workspace }: any) {
    const text = stops.map(({ town, nights = 0 }) => town + " " + nights).join("\\n");
    await workspace.write("route.txt", by + "\\n" + text);
    return "Planned " + stops.length + " stops.";
  },
};
`;
const reply = (name: string, args: object) => JSON.stringify({ thoughts: { speak: "s" }, command: { name, args } });

describe("a home's own command with nested arguments", () => {
  it.each([
    ["a strict schema", "", true],
    [
      "a schema that no strict server takes",
      'labels: { type: "object", additionalProperties: { type: "string" } },',
      false,
    ],
  ])("runs under %s, after a reply that its schema refuses", async (_title, labels, isStrict) => {
    const bad = { stops: [{ town: "Ulm" }, { town: "Bern", nights: -1 }], by: null };
    const good = {
      stops: [
        { town: "Ulm", nights: null },
        { town: "Bern", nights: 2 },
      ],
      by: "train",
    };
    await using server = await startOpenAIServer({
      reply: [reply("plan_route", bad), reply("plan_route", good), reply("task_complete", { reason: "done" })],
    });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    await goald.write("commands/plan_route.ts", command(labels));
    endedWith(0, await goald.ask(["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous"]));
    expect(server.violations).toEqual([]);
    expect(await goald.read("workspace/t/route.txt")).toBe("train\nUlm 0\nBern 2");
    const [first] = server.chats;
    expect(first?.messages[0]?.content).toContain(
      'args: "stops": [{"town": "<name of a town>", optional "nights": <nights>}], optional "by": "<how to travel: foot|train>"',
    );
    expect(first?.response_format).toMatchObject({ json_schema: { strict: isStrict } });
    const { log, problems } = await lookInto(goald, "t");
    expect(problems).toEqual([]);
    expect(log.find((event) => event.type === "reply-rejected")).toMatchObject({
      problems: [expect.stringMatching(/"stops\.1\.nights" of plan_route must be >= 0/)],
    });
  });
});
