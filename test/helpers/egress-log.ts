/** egress-log.ts -- a short log of an agent that read outside words, for tests of what may leave. */
import type { CommandCall } from "#core/call.ts";
import type { NewEvent, RecordedEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import type { OutgoingText } from "#core/policy.ts";
import { openEgress, searchFolder } from "#loop/egress.ts";
import { type Files, MemoryWorkspace } from "./memory-workspace.ts";

const FACTS: Readonly<Record<string, { openWorld: boolean; readOnly: boolean; sends?: readonly string[] }>> = {
  browse_website: { openWorld: true, readOnly: true, sends: ["url"] },
  google: { openWorld: true, readOnly: true, sends: ["input"] },
  picture_of_the_day: { openWorld: true, readOnly: true, sends: [] },
  hear_file: { openWorld: true, readOnly: true },
  send_tweet: { openWorld: true, readOnly: false },
  post_note: { openWorld: true, readOnly: false },
  clone_repository: { openWorld: true, readOnly: false, sends: ["repository_url"] },
  read_file: { openWorld: false, readOnly: true },
  write_to_file: { openWorld: false, readOnly: false },
};

export interface EgressLogOptions {
  readonly goals?: readonly string[];
  readonly settingTexts?: string;
  readonly openHosts?: readonly string[];
}

/** `run` records a call with its result; `ask` returns what a call would send out, and records it as sent when `isSent`. */
export function makeEgressLog({ goals = ["Look around"], settingTexts = "", openHosts = [] }: EgressLogOptions = {}) {
  const events: RecordedEvent[] = [];
  const files: Files = new Map();
  const writers = new Map<string, "person" | "web" | "agent">();
  let step = 0;
  const record = (event: NewEvent): void => {
    const stamp = { v: 1, seq: events.length + 1, at: "2026-11-20T08:00:00.000Z", frame: 0 } as const;
    events.push({ ...event, ...stamp } as RecordedEvent);
  };
  record({ type: "agent-created", name: "Foo", role: "a researcher", goals, approve: "risky", stepLimit: 100 });
  const workspace = new MemoryWorkspace({ files, onChange: () => undefined });
  const egress = openEgress({
    facts: (name) => {
      const { sends, ...annotations } = FACTS[name] ?? { openWorld: true, readOnly: false };
      return { annotations, ...(sends ? { sends } : {}) };
    },
    read: async (text) => (typeof text === "string" ? text : text.head),
    settingTexts,
    openHosts,
    folder: searchFolder(workspace, async (path) => writers.get(path) ?? "agent"),
    isKnownToFamily: async () => false,
  });
  const request = (call: CommandCall, leaving?: OutgoingText): string => {
    step++;
    const callId = `c${step}`;
    const asked = {
      attempt: 1,
      epoch: 1,
      model: "m",
      mode: "plain",
      requestHash: "",
      recallIds: [],
    } as const;
    record({ type: "model-asked", step, callId: `m${step}`, ...asked, reservedTokens: 0 });
    record({
      type: "command-requested",
      step,
      callId,
      call,
      thought: "",
      repaired: false,
      ...(leaving ? { leaving } : {}),
    });
    return callId;
  };
  const start = (callId: string): void => {
    const annotations = { readOnly: true, destructive: false, idempotent: true, openWorld: true };
    record({
      type: "command-started",
      step,
      callId,
      attempt: 1,
      epoch: 1,
      effect: "pure",
      annotations,
      prepared: null,
    });
  };
  const finish = (
    callId: string,
    source: "web" | "workspace" | "person" | "goald",
    text: string,
    artifacts: readonly string[] = [],
  ): void => {
    const observation = { status: "ok", source, text, artifacts } as const;
    record({ type: "command-finished", step, callId, observation, durationMs: 1 });
  };
  return {
    record,
    has: (path: string): boolean => files.has(path),
    /** Puts a file into the folder. */
    keep(path: string, text: string, writer: "person" | "web" | "agent"): void {
      files.set(path, Buffer.from(text));
      writers.set(path, writer);
    },
    run(
      call: CommandCall,
      source: "web" | "workspace" | "person" | "goald",
      text: string,
      artifacts: readonly string[] = [],
    ): void {
      const callId = request(call);
      start(callId);
      finish(callId, source, text, artifacts);
    },
    /** `isSent`: the call runs when nothing is to be asked. `approve`: a person lets it go. */
    async ask(call: CommandCall, { isSent = true, approve = false } = {}): Promise<OutgoingText | undefined> {
      const log = {
        state: replay(events),
        head: events.length,
        eventsAfter: async (after: number, limit: number) => events.slice(after, after + limit),
      };
      const [leaving] = await egress.judge([call], log);
      const callId = request(call, leaving);
      if (approve) record({ type: "command-approved", step, callId, by: "person" });
      if (isSent && (approve || !leaving)) start(callId);
      return leaving;
    },
  };
}

export const browse = (url: string, question = "What is there?"): CommandCall => ({
  name: "browse_website",
  args: { url, question },
});
export const search = (input: string): CommandCall => ({ name: "google", args: { input } });
