/** registry.ts -- loads the file of a verb when it is called. */
import type { Verb, VerbDeclaration } from "./verb.ts";
import { SUMMARIES, VERB_NAMES, type VerbName } from "./verb-list.ts";

type Load = () => Promise<{ readonly verb: VerbDeclaration }>;

const LOAD: Readonly<Record<VerbName, Load>> = {
  run: () => import("./verbs/run.ts"),
  resume: () => import("./verbs/resume.ts"),
  replay: () => import("./verbs/replay.ts"),
  test: () => import("./verbs/test.ts"),
  fork: () => import("./verbs/fork.ts"),
  demo: () => import("./verbs/demo.ts"),
  ps: () => import("./verbs/ps.ts"),
  attach: () => import("./verbs/attach.ts"),
  show: () => import("./verbs/show.ts"),
  logs: () => import("./verbs/logs.ts"),
  events: () => import("./verbs/events.ts"),
  say: () => import("./verbs/say.ts"),
  goals: () => import("./verbs/goals.ts"),
  plan: () => import("./verbs/plan.ts"),
  approve: () => import("./verbs/approve.ts"),
  deny: () => import("./verbs/deny.ts"),
  trust: () => import("./verbs/trust.ts"),
  pause: () => import("./verbs/pause.ts"),
  stop: () => import("./verbs/stop.ts"),
  rm: () => import("./verbs/rm.ts"),
  why: () => import("./verbs/why.ts"),
  diff: () => import("./verbs/diff.ts"),
  restore: () => import("./verbs/restore.ts"),
  memory: () => import("./verbs/memory.ts"),
  "memory list": () => import("./verbs/memory-list.ts"),
  "memory search": () => import("./verbs/memory-search.ts"),
  "memory add": () => import("./verbs/memory-add.ts"),
  "memory correct": () => import("./verbs/memory-correct.ts"),
  "memory forget": () => import("./verbs/memory-forget.ts"),
  "memory export": () => import("./verbs/memory-export.ts"),
  "memory import": () => import("./verbs/memory-import.ts"),
  ingest: () => import("./verbs/ingest.ts"),
  up: () => import("./verbs/up.ts"),
  down: () => import("./verbs/down.ts"),
  restart: () => import("./verbs/restart.ts"),
  status: () => import("./verbs/status.ts"),
  reload: () => import("./verbs/reload.ts"),
  init: () => import("./verbs/init.ts"),
  commands: () => import("./verbs/commands.ts"),
  config: () => import("./verbs/config.ts"),
  doctor: () => import("./verbs/doctor.ts"),
  verify: () => import("./verbs/verify.ts"),
  backup: () => import("./verbs/backup.ts"),
  completion: () => import("./verbs/completion.ts"),
  plain: () => import("./verbs/plain.ts"),
  daemon: () => import("./verbs/daemon.ts"),
  complete: () => import("./verbs/complete.ts"),
};

export const loadVerb = async (name: VerbName): Promise<Verb> => ({
  ...(await LOAD[name]()).verb,
  ...SUMMARIES[name],
  name,
});

export const loadVerbs = (names: readonly VerbName[] = VERB_NAMES): Promise<readonly Verb[]> =>
  Promise.all(names.map(loadVerb));
