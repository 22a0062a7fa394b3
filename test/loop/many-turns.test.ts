import { describe, expect, it } from "@jest/globals";
import { LANTERN, runTurns, taskOf } from "../seeds/many-turns.ts";

const shownTurns = ({ messages }: { readonly messages: readonly { readonly content: string }[] }) =>
  messages.flatMap(({ content }) => /^Your memory of turn (\d+)/.exec(content)?.[1] ?? []).map(Number);

describe("C6: an agent of many turns", () => {
  it("shows the newest turns, and recalls an old one when it is asked for", async () => {
    const { say } = await runTurns(40);
    const { request, recalls } = await say("How did you write the lighthouse schedule? Do it again.");
    const shown = shownTurns(request);
    expect(shown.at(-1)).toBe(40);
    expect(shown).toEqual(shown.toSorted((a, b) => a - b));
    expect(shown.length).toBeGreaterThan(2);
    expect(shown).not.toContain(3);
    const [best] = recalls;
    expect(best).toMatchObject({ kind: "turn", text: expect.stringContaining(taskOf(3)) });
    const last = request.messages.at(-1)?.content ?? "";
    expect(last).toContain("| memory of a turn | agent] Turn 3 was for: Write the lighthouse schedule.");
    expect(last).toContain(LANTERN);
    // The prompt shows the memory of this turn, so it is not recalled too.
    const recalled = recalls.flatMap(({ text }) => /^Turn (\d+) was/.exec(text)?.[1] ?? []).map(Number);
    expect(recalled.filter((turn) => shown.includes(turn))).toEqual([]);
    expect(recalled).toContain(3);
  });

  it("does not recall that turn first when something else is asked for", async () => {
    const { say } = await runTurns(30);
    const { recalls } = await say(`And once more: ${taskOf(9)}`);
    expect(recalls[0]?.text).not.toContain("lighthouse");
  });
});
