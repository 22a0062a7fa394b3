/** long-log.ts -- writes an agent with many steps into a home's store, as the main loop would. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { NewEvent, RecordedEvent } from "#core/event.ts";
import type { Commit } from "#core/ports/store.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { AT, asked, finished, observed, replied, requested } from "./events.ts";

const STEPS_PER_COMMIT = 100;

/** Every tenth step appends a line to `out.md`, the others read `in.md`. A step has five events. */
export async function writeLongLog(home: string, steps: number): Promise<void> {
  const store = await openSqliteStore(join(home, ".goald", "goald.db"));
  const spec = { name: "Long", role: "r", goals: ["Write out.md"], approve: "never", stepLimit: null } as const;
  const { id } = await store.create(spec, "long", AT);
  const lease = await store.claim(id);
  let seq = 1;
  let bytes = 0;
  for (let from = 1; from <= steps; from += STEPS_PER_COMMIT) {
    const head = seq;
    const events: RecordedEvent[] = [];
    const files: Commit["files"][number][] = [];
    for (let step = from; step < from + STEPS_PER_COMMIT && step <= steps; step++) {
      const content = Buffer.from(`line of step ${step}\n`);
      const writes = step % 10 === 0;
      for (const event of stepOf(step, writes)) {
        const at = new Date(Date.parse(AT) + seq * 100).toISOString();
        events.push({ frame: 0, ...event, v: 1, seq: ++seq, at } as RecordedEvent);
      }
      if (!writes) continue;
      bytes += content.length;
      const sha256 = createHash("sha256").update(content).digest("hex");
      files.push({ step, callId: `c${step}`, path: "out.md", operation: "append", bytes, sha256, content });
    }
    await store.commit(lease, head, { events, consumed: [], memories: [], files, blobs: [], staged: [] });
  }
  await store.close();
}

function stepOf(step: number, writes: boolean): readonly NewEvent[] {
  const call = writes
    ? { name: "append_to_file", args: { file: "out.md", text: "x" } }
    : { name: "read_file", args: { file: "in.md" } };
  const result = writes ? observed("Added.", { artifacts: ["out.md"] }) : observed("text", { source: "workspace" });
  return [
    asked(step),
    replied(step, `reply ${step}`),
    { ...requested(call.name, step), call, thought: `thought ${step}` },
    { type: "command-approved", step, callId: `c${step}`, by: "policy" },
    finished(step, result),
  ];
}
