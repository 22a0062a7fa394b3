import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { makeGoald } from "../helpers/goald.ts";
import { frozen, goldenModel, openTranscript } from "../helpers/golden.ts";
import { failure, startOpenAIServer } from "../helpers/openai-server.ts";

const openHome = (): Promise<DaemonHome> => makeDaemonHome([], { reply: goldenModel });

describe("a run without a terminal", () => {
  it("shows as frozen what its agent does, and why it ends", async () => {
    await using home = await openHome();
    const { goald } = home;
    await writeFile(
      join(goald.cwd, "clerk.yaml"),
      "ai_name: Clerk\nai_role: an assistant that keeps a ledger\nai_goals:\n  - Keep the ledger\n  - Close the ledger\nspare: 1\n",
    );
    const transcript = openTranscript(goald);
    await transcript.run("run --name Baker --role 'an assistant that bakes' -g 'Write down the hours' --continuous");
    await transcript.ask(`
      run --from clerk.yaml --continuous
      run --from clerk.yaml --continuous -g 'Only this' --name Scribe
      run 'Do nothing' --name Stuck --continuous --continuous-limit 2
      run 'Do nothing' --name Stuck --continuous --max-tokens 100
      run 'Do nothing' --name Stuck --continuous --budget 0.001
      run 'Do nothing' --name Stuck --approve risky
      run 'Do nothing' --name Stuck --approve never --max-steps 1 --model gpt-4.1-mini
      run 'Talk' --name Babbler --continuous
      run 'Ask me' --name Asker --continuous
      run 'Lead the others' --name Lead --continuous
    `);
    expect(transcript.text).toBe(await frozen("run", transcript.text));
  });

  it("gives programs the events and a result, as frozen", async () => {
    await using home = await openHome();
    const transcript = openTranscript(home.goald);
    await transcript.run("run --name Clerk --role r -g 'Keep the ledger' --continuous --json");
    await transcript.ask(`
      run --name Stuck --role r -g 'Do nothing' --continuous --continuous-limit 1 --json
      run --name Babbler --role r -g Talk --continuous --json
    `);
    expect(transcript.text).toBe(await frozen("run-json", transcript.text));
  });

  it("ends as frozen when the model server takes no key", async () => {
    await using server = await startOpenAIServer({ reply: () => failure(401, "Incorrect API key provided: no.") });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    const transcript = openTranscript(goald);
    await transcript.ask(`
      run --name Clerk --role r -g g --continuous
      run --name Clerk --role r -g g --continuous --json
      show clerk
      resume clerk
      doctor --online
      models
      models --json
      logs clerk
    `);
    expect(transcript.text).toBe(await frozen("refused", transcript.text));
  });
});

describe("an agent of a terminal that stands", () => {
  it("is gone on with, followed and steered as frozen", async () => {
    await using home = await openHome();
    const { goald } = home;
    await goald.ask(["run", "Keep the ledger", "--name", "Clerk", "--continuous", "--max-steps", "1"]);
    const transcript = openTranscript(goald);
    await transcript.ask(`
      attach clerk
      attach clerk --since 1
      attach clerk --since 9
      attach clerk --json
      goals clerk
      goals clerk --json
      goals clerk --set a --add b
      goals clerk --rm 2
      goals clerk --rm 1
      goals clerk --set ' '
      pause clerk
      pause clerk --json
      stop clerk
      stop clerk --now
      approve clerk
      approve clerk --json
      deny clerk no --reason no
      deny clerk
      resume --max-steps 1
      resume clerk --max-steps 1 --json
      resume clerk --max-steps none --model gpt-4.1-mini
      resume clerk
      resume clerk --json
      attach clerk
      pause clerk
      approve clerk
    `);
    expect(transcript.text).toBe(await frozen("resume", transcript.text));
  });
});

describe("a recording", () => {
  it("is made, gone on with and played again as frozen", async () => {
    await using home = await openHome();
    const { goald } = home;
    const transcript = openTranscript(goald);
    await transcript.ask(`
      run 'Keep the ledger' --name Clerk --continuous --max-steps 2 --record clerk.ndjson
      run 'Keep the ledger' --name Clerk --continuous --record clerk.ndjson
      resume clerk --max-steps none --record clerk.ndjson
      resume clerk --record clerk.ndjson
    `);
    // Replays make temporary homes.
    const env = { TMPDIR: goald.cwd };
    await transcript.ask(
      `
        replay clerk.ndjson
        replay clerk.ndjson --home <cwd>/played --json
        ps --home <cwd>/played
        replay clerk.ndjson --home <cwd>/played
      `,
      { env },
    );
    const file = join(goald.cwd, "clerk.ndjson");
    await writeFile(join(goald.cwd, "changed.ndjson"), (await readFile(file, "utf8")).replaceAll("grips", "grubs"));
    await writeFile(join(goald.cwd, "broken.ndjson"), "{}\n");
    await transcript.ask("replay changed.ndjson\nreplay broken.ndjson\nreplay missing.ndjson --json", { env });
    expect(transcript.text).toBe(await frozen("replay", transcript.text));
  });
});

describe("a test of an agent file", () => {
  it("prints checks with their proofs as frozen, also from a recording", async () => {
    await using home = await openHome();
    const { goald } = home;
    const agent =
      "ai_name: Clerk\nai_role: r\nai_goals: [Keep the ledger]\nai_checks:\n  - {file: ledger.txt, contains: three";
    await writeFile(join(goald.cwd, "clerk.yaml"), `${agent}}\n`);
    await writeFile(join(goald.cwd, "long.yaml"), `${agent}, min_chars: 99}\n`);
    const transcript = openTranscript(goald);
    const calls = `
      test clerk.yaml --record clerk.ndjson
      test clerk.yaml --replay clerk.ndjson --json
      test long.yaml --replay clerk.ndjson
      test long.yaml clerk.yaml --json
    `;
    await transcript.ask(calls, { env: { TMPDIR: goald.cwd } });
    expect(transcript.text).toBe(await frozen("test", transcript.text));
  });
});
