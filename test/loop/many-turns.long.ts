import { expect, it } from "@jest/globals";
import { bytesOf, LANTERN, runTurns } from "../seeds/jobs.ts";

it("an agent of 500 turns has a prompt of the same size as at turn 50, and recalls turn 3 when it is asked for", async () => {
  const bytes = new Map<number, number>();
  const { say } = await runTurns(500, (turn, request) => bytes.set(turn, bytesOf(request)));
  const [early = 0, late = 0] = [bytes.get(50), bytes.get(500)];
  expect(late / early).toBeLessThan(1.1);
  expect(late / early).toBeGreaterThan(0.9);
  // The control: the first turns have shorter prompts, because there is less to remember.
  expect(bytes.get(2) ?? 0).toBeLessThan(early / 2);
  const { request, recalls } = await say("How did you write the lighthouse schedule? Do it again.");
  expect(recalls[0]).toMatchObject({ kind: "turn", text: expect.stringMatching(/^Turn 3 was/) });
  expect(request.messages.at(-1)?.content).toContain(LANTERN);
});
