import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { useShared } from "../helpers/folder.ts";
import { frozen, openGolden, openTranscript, runOf } from "../helpers/golden.ts";

const LOOKS = {
  list: `
    ps
    ps --json
    verify
    verify --json
    verify baker
    verify baker --json
    --home <home>
  `,
  show: `
    show baker
    show BAKER
    show clerk
    show babbler
    show baker --json
    show clerk --json
    show nobody
    plan baker
    plan clerk
    plan clerk --json
  `,
  step: `
    show baker --step 2
    show baker --step 4 --json
    show clerk --step 3
    show clerk --step 3 --json
  `,
  report: `
    show baker --report
    show clerk --report
    show babbler --report
    show baker --report --json
  `,
  events: `
    events clerk
    events clerk --json
    events clerk --after 10 --json
    events baker --after 9999
  `,
  logs: `
    logs
    logs clerk
    logs clerk --json
    logs clerk --step 2
    logs CLERK --tail 1
    logs clerk --since 1h
    logs --level warn
    logs --daemon
  `,
  files: `
    show baker --files
    show baker --files --json
    show clerk --files
    show babbler --files
    show babbler --files --json
    why baker/notes/hours.md
    why baker notes/hours.md --json
    why <home>/workspace/clerk/ledger.txt
    why baker/list.txt
    why baker
    why baker/../../etc/passwd
    why baker/never.md
    why baker/never.md --json
    diff baker
    diff baker --json
    diff baker --to 1
    diff baker notes/hours.md --from 1 --to 5
    diff baker --from 0 --stat
    diff baker --from 0 --stat --json
    diff baker --from 5 --to 1
    diff baker --to 99
    diff babbler
  `,
} as const;

describe("agents that have worked", () => {
  const home = useShared(openGolden);
  beforeAll(async () => {
    for (const [name, ...flags] of [["Baker"], ["Clerk", "--max-steps", "2"], ["Babbler"]] as const)
      await home.goald.ask([...runOf(name), "--continuous", ...flags]);
  });

  it.each(Object.entries(LOOKS))("are shown as frozen: %s", async (name, calls) => {
    const transcript = openTranscript(home.goald);
    await transcript.ask(calls);
    expect(transcript.text).toBe(await frozen(name, transcript.text));
  });

  it("have their files put back, and are forked, as frozen", async () => {
    const { goald } = home;
    await appendFile(join(goald.home, "workspace/baker/plan.md"), "- a person's line\n");
    await writeFile(join(goald.home, "workspace/baker/own.txt"), "mine\n");
    const transcript = openTranscript(goald);
    await transcript.ask(`
      restore baker --step 1 --dry-run
      restore baker --step 1 --dry-run --json
      restore baker --step 1 plan.md
      restore baker --step 1
      restore baker --step 1
      diff baker
      show baker --files
      restore baker --step 8 --json
      restore baker --step 8 --json
      restore baker --step 99
      restore baker --step 99 --json
      restore baker --step 1 own.txt
      restore babbler --step 0
      why baker/plan.md
      events baker --after 50
      show baker --report
    `);
    expect(transcript.text).toBe(await frozen("restore", transcript.text));
    await goald.ask(["down"]);
    const forks = openTranscript(goald);
    await forks.ask(`
      fork baker --step 2
      fork baker --step 3 --name 'Baker of rolls' -g 'Only rolls' --json
      fork clerk --step 0
      fork clerk --step 9
      fork clerk --step 1 -g a -g b -g c -g d -g e -g f
      ps
      show baker-2
      goals baker-of-rolls
      resume clerk-2 --max-steps 1
      rm --ended
      rm baker-2
      rm -f baker-2
      rm -f baker-of-rolls --files --json
      rm -f baker-2
      verify
    `);
    expect(forks.text).toBe(await frozen("fork", forks.text));
  });
});

const ALONE = {
  family: `
    ps
    ps --json
    show lead
    show lead --json
    show lead-ann
    show lead --report
    logs lead
    logs lead-ann
    events lead
    show lead --files
    why lead/agents/lead-ann/ann.txt
    trust lead never.md
    trust lead all
    trust lead all --json
    rm -f lead
    rm -f lead-ann
    rm -f lead
  `,
  memory: `
    memory baker
    memory baker list --json -n 2
    memory baker list --kind fact
    memory baker list --kind fact --json
    memory baker search 'when does the shop open'
    memory baker search 'when does the shop open' -n 2 --json
    memory baker add 'Ada leads the project' --pin
    memory baker add 'Rye is out' --fact --json
    memory baker correct 7 'The shop opens at ten'
    memory baker correct 7 'The shop opens at ten'
    memory baker correct +2 'Rye is back' --json
    memory baker forget +1 13
    memory baker forget 19 --json
    memory baker forget other/2
    memory baker list -a
    memory baker list
    memory shared
    memory shared --json
    memory shared add 'Prices are in francs'
    memory baker add 'For all' --shared --json
    memory shared list
    memory baker export
    memory baker export <cwd>/baker.jsonl
    memory baker export <cwd>/baker.jsonl --json
    memory baker import <cwd>/baker.jsonl
    memory shared import <cwd>/baker.jsonl --json
    memory shared import <cwd>/baker.jsonl --trust
    memory shared import <cwd>/missing.jsonl
    verify
    backup <cwd>/baker.jsonl
    backup <cwd>/baker.jsonl --json
  `,
} as const;

it.each([
  ["an agent that started another", "family", "Lead"],
  ["what an agent remembers", "memory", "Baker"],
] as const)("%s is shown and changed as frozen: %s", async (_what, name, agent) => {
  await using home = await openGolden();
  const { goald, transcript } = home;
  await goald.ask([...runOf(agent), "--continuous"]);
  await transcript.ask(ALONE[name]);
  expect(transcript.text).toBe(await frozen(name, transcript.text));
});

it("what agents are given to remember is read into them as frozen", async () => {
  await using home = await openGolden();
  const { goald, transcript } = home;
  await goald.ask([...runOf("Babbler"), "--continuous"]);
  const docs = join(goald.cwd, "docs");
  await mkdir(join(docs, "inner"), { recursive: true });
  await writeFile(join(docs, "hours.md"), "# Hours\n\nThe shop opens at eight.\n");
  await writeFile(join(docs, "inner", "prices.txt"), "A loaf costs two francs.\n");
  await writeFile(join(docs, "picture.bin"), Uint8Array.of(1, 0, 2));
  await transcript.ask(`
    ingest babbler docs
    ingest babbler docs
    ingest babbler docs --json
  `);
  await writeFile(join(docs, "hours.md"), "# Hours\n\nThe shop opens at nine.\n");
  await transcript.ask(`
    ingest babbler docs/hours.md
    ingest babbler docs --shared --json
    ingest babbler missing
    ingest babbler missing --json
    ingest babbler docs/picture.bin
    ingest shared docs/hours.md
    memory babbler list
    memory shared list
    memory babbler search 'when does the shop open'
  `);
  expect(transcript.text).toBe(await frozen("ingest", transcript.text));
});
