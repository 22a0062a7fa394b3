/** registry.ts -- loads the file of a verb when it is called. */
import type { Verb, VerbDeclaration } from "./verb.ts";
import { SUMMARIES, VERB_NAMES, type VerbName } from "./verb-list.ts";

type Load = () => Promise<VerbDeclaration>;

const LOAD: Readonly<Record<VerbName, Load>> = {
  run: async () => (await import("./verbs/run.ts")).verb,
  resume: async () => (await import("./verbs/resume.ts")).verb,
  replay: async () => (await import("./verbs/replay.ts")).verb,
  test: async () => (await import("./verbs/test.ts")).verb,
  fork: async () => (await import("./verbs/fork.ts")).verb,
  demo: async () => (await import("./verbs/demo.ts")).verb,
  ps: async () => (await import("./verbs/ps.ts")).verb,
  attach: async () => (await import("./verbs/attach.ts")).verb,
  show: async () => (await import("./verbs/show.ts")).verb,
  logs: async () => (await import("./verbs/logs.ts")).LOGS,
  events: async () => (await import("./verbs/logs.ts")).EVENTS,
  say: async () => (await import("./verbs/say.ts")).verb,
  goals: async () => (await import("./verbs/goals.ts")).verb,
  plan: async () => (await import("./verbs/plan.ts")).verb,
  approve: async () => (await import("./verbs/approve.ts")).APPROVE,
  deny: async () => (await import("./verbs/approve.ts")).DENY,
  trust: async () => (await import("./verbs/files.ts")).TRUST,
  pause: async () => (await import("./verbs/stop.ts")).PAUSE,
  stop: async () => (await import("./verbs/stop.ts")).STOP,
  rm: async () => (await import("./verbs/rm.ts")).verb,
  why: async () => (await import("./verbs/files.ts")).WHY,
  diff: async () => (await import("./verbs/diff.ts")).DIFF,
  restore: async () => (await import("./verbs/diff.ts")).RESTORE,
  memory: async () => (await import("./verbs/memory.ts")).MEMORY,
  "memory list": async () => (await import("./verbs/memory.ts")).MEMORY_LIST,
  "memory search": async () => (await import("./verbs/memory.ts")).MEMORY_SEARCH,
  "memory add": async () => (await import("./verbs/edit-memory.ts")).MEMORY_ADD,
  "memory correct": async () => (await import("./verbs/edit-memory.ts")).MEMORY_CORRECT,
  "memory forget": async () => (await import("./verbs/edit-memory.ts")).MEMORY_FORGET,
  "memory export": async () => (await import("./verbs/memory-file.ts")).MEMORY_EXPORT,
  "memory import": async () => (await import("./verbs/memory-file.ts")).MEMORY_IMPORT,
  ingest: async () => (await import("./verbs/ingest.ts")).verb,
  up: async () => (await import("./verbs/up.ts")).UP,
  down: async () => (await import("./verbs/down.ts")).DOWN,
  restart: async () => (await import("./verbs/down.ts")).RESTART,
  status: async () => (await import("./verbs/status.ts")).verb,
  dashboard: async () => (await import("./verbs/up.ts")).DASHBOARD,
  reload: async () => (await import("./verbs/up.ts")).RELOAD,
  init: async () => (await import("./verbs/init.ts")).verb,
  commands: async () => (await import("./verbs/commands.ts")).verb,
  config: async () => (await import("./verbs/config.ts")).verb,
  models: async () => (await import("./verbs/models.ts")).verb,
  doctor: async () => (await import("./verbs/doctor.ts")).verb,
  verify: async () => (await import("./verbs/store.ts")).VERIFY,
  backup: async () => (await import("./verbs/store.ts")).BACKUP,
  completion: async () => (await import("./verbs/complete.ts")).COMPLETION,
  plain: async () => (await import("./verbs/plain.ts")).verb,
  daemon: async () => (await import("./verbs/daemon.ts")).verb,
  complete: async () => (await import("./verbs/complete.ts")).COMPLETE,
};

export const loadVerb = async (name: VerbName): Promise<Verb> => ({
  ...(await LOAD[name]()),
  ...SUMMARIES[name],
  name,
});

export const loadVerbs = (names: readonly VerbName[] = VERB_NAMES): Promise<readonly Verb[]> =>
  Promise.all(names.map(loadVerb));
