/** summaries.ts -- generated from verbs/ by `npm run docs`, so that `goald --help` loads no verb. */
import type { VerbName } from "./registry.ts";
import type { Verb } from "./verb.ts";

export const SUMMARIES: Readonly<Record<VerbName, Pick<Verb, "group" | "summary">>> = {
  run: {
    group: "Set agents going",
    summary: "start a new agent, here or in the background (-d)",
  },
  resume: {
    group: "Set agents going",
    summary: "continue an agent after a pause, a limit or a crash",
  },
  replay: {
    group: "Set agents going",
    summary: "replay a recorded run, offline",
  },
  fork: {
    group: "Set agents going",
    summary: "create an agent from a past step of another",
  },
  demo: {
    group: "Set agents going",
    summary: "run a recorded agent: no key, no network",
  },
  ps: {
    group: "Look at agents",
    summary: "list agents",
  },
  attach: {
    group: "Look at agents",
    summary: "follow an agent live and answer its questions",
  },
  show: {
    group: "Look at agents",
    summary: "show an agent, or one step of it (--step)",
  },
  report: {
    group: "Look at agents",
    summary: "report what an agent did",
  },
  logs: {
    group: "Look at agents",
    summary: "print goald's own log",
  },
  events: {
    group: "Look at agents",
    summary: "print an agent's event log",
  },
  say: {
    group: "Steer agents",
    summary: "send an agent a message",
  },
  goals: {
    group: "Steer agents",
    summary: "show or change an agent's goals",
  },
  approve: {
    group: "Steer agents",
    summary: "run the pending command",
  },
  deny: {
    group: "Steer agents",
    summary: "reject the pending command, with feedback",
  },
  pause: {
    group: "Steer agents",
    summary: "pause an agent after its step",
  },
  stop: {
    group: "Steer agents",
    summary: "stop an agent after its step, with a report",
  },
  kill: {
    group: "Steer agents",
    summary: "stop an agent at once",
  },
  rm: {
    group: "Steer agents",
    summary: "remove an agent; its folder stays",
  },
  files: {
    group: "Files of agents",
    summary: "list the files that an agent wrote",
  },
  why: {
    group: "Files of agents",
    summary: "explain why a file exists",
  },
  diff: {
    group: "Files of agents",
    summary: "compare files between two steps",
  },
  restore: {
    group: "Files of agents",
    summary: "restore files as they were after a step",
  },
  memory: {
    group: "Memory of agents",
    summary: "list, search, add, correct, forget",
  },
  "memory list": {
    summary: "list memories, newest first",
  },
  "memory search": {
    summary: "search as the agent's recall does",
  },
  "memory show": {
    summary: "show one memory in full",
  },
  "memory why": {
    summary: "explain where a memory comes from",
  },
  "memory add": {
    summary: "add a note or a fact",
  },
  "memory correct": {
    summary: "replace a wrong memory",
  },
  "memory pin": {
    summary: "pin memories: recall them in every step",
  },
  "memory unpin": {
    summary: "unpin memories",
  },
  "memory forget": {
    summary: "erase memories; they are never recalled again",
  },
  "memory export": {
    summary: "write a memory as JSON lines",
  },
  "memory import": {
    summary: "add the memories of an exported file",
  },
  ingest: {
    group: "Memory of agents",
    summary: "read files or pages into a memory",
  },
  up: {
    group: "The daemon",
    summary: "start the daemon (most verbs do so themselves)",
  },
  down: {
    group: "The daemon",
    summary: "stop the daemon; agents go on at its next start",
  },
  restart: {
    group: "The daemon",
    summary: "restart the daemon with this version",
  },
  status: {
    group: "The daemon",
    summary: "show whether it is running, its load and limits",
  },
  reload: {
    group: "The daemon",
    summary: "reload settings, commands and prompts",
  },
  "install-service": {
    group: "The daemon",
    summary: "start it at login (systemd, launchd)",
  },
  init: {
    group: "This home",
    summary: "make a home: folders, .env, an example agent",
  },
  commands: {
    group: "This home",
    summary: "list the commands of agents",
  },
  "new": {
    group: "This home",
    summary: "create a command of your own",
  },
  "new command": {
    summary: "create a command for your agents",
  },
  config: {
    group: "This home",
    summary: "show and change settings",
  },
  "config list": {
    summary: "list every setting with its value",
  },
  "config get": {
    summary: "print a setting; for a key, whether it is set",
  },
  "config set": {
    summary: "write a setting into goald.json",
  },
  "config unset": {
    summary: "remove a setting from goald.json",
  },
  "config path": {
    summary: "print the path of goald.json",
  },
  doctor: {
    group: "This home",
    summary: "check everything and explain what to fix",
  },
  verify: {
    group: "This home",
    summary: "check the hash chains of the store",
  },
  start: {
    summary: "set up an agent on a terminal; run the demo without one",
  },
  plain: {
    summary: "list agents at work; without any, do what goald start does",
  },
  daemon: {
    summary: "run the daemon in this process; started by other verbs",
  },
};
