/** Code that a model wrote: what it reaches, what it may do, and what people see of it. */
import { type Defence, proof } from "./defence.ts";

export const CODE: readonly Defence[] = [
  {
    id: "code: attacks",
    claim:
      "Hostile Python reads, writes and reaches nothing outside, strict and degraded, with all imports allowed; the next cell works.",
    proofs: [
      proof("security/sandbox-attacks.long", "attacks in Python, in a cage that is "),
      proof("security/sandbox-attacks.long", "sees what an attack does"),
    ],
  },
  {
    id: "code: a process that was taken over",
    claim:
      "A process that hostile code controls is ended when it sends anything but the messages of a cell; its host keeps its prototypes, and a terminal its lines.",
    proofs: [
      proof("sandbox/sandbox.long", "is ended when it sends %s"),
      proof("sandbox/sandbox.long", "is ended at the time limit after %s"),
      proof("sandbox/sandbox.long", "cannot send control characters"),
      proof("sandbox/sandbox.long", "cannot change a prototype of the host"),
      proof("sandbox/sandbox.long", "is used while it keeps to the conversation"),
    ],
  },
  {
    id: "code: files",
    claim:
      "Files of code are read and written by the rules of every command: paths, quotas, history, and the question about files that others run.",
    proofs: [
      proof("loop/cells.test", "ask a person when others run them, and are refused when nobody can be asked"),
      proof("loop/cells.test", "keep what they held, up to 64 MB, and the result says what cannot be restored"),
      proof("loop/cells.test", "does nothing for a command that is not a cell"),
      proof("loop/cells.test", "is not offered to the model, and is refused when a reply names it"),
    ],
  },
  {
    id: "code: checks of an agent file",
    claim:
      "Without a strict cage, code of checks from an agent file asks once before it runs, and the question shows all of it; a no leaves it unrun.",
    proofs: [
      proof("loop/goal-checks.test", "asks once with the words of run_code"),
      proof("loop/goal-checks.test", "never runs after a no"),
      proof("loop/goal-checks.test", "is approved once, whenever the power is cut"),
      proof("cli/run.test", "asks once before they run, shows all of their code"),
    ],
  },
  {
    id: "code: calls",
    claim: "A call of code is judged, limited and recorded as a call of the model; a cell makes at most 1,000.",
    proofs: [
      proof("loop/cells.test", "is a call of its own in the log, and code gets its value"),
      proof("loop/cells.test", "does not reach %s"),
      proof("loop/cells.test", "may be made 1,000 times by one cell, and then fails in words"),
    ],
  },
  {
    id: "code: what leaves",
    claim:
      "What code sends is judged like what the model sends: it opens no address that nobody gave, and says few words of its own.",
    proofs: [
      proof("loop/leaving.test", "from the same cell"),
      proof("loop/leaving.test", "from a later cell, with another process between them"),
      proof("loop/leaving.test", "and would send it with the rule switched off"),
      proof(
        "loop/leaving.test",
        "does not send a number of a file that it read, by a search or a message, also in a part of it",
      ),
      proof(
        "loop/leaving.test",
        "follows an address of a file that a person put there, and none that a cell wrote into one",
      ),
      proof("loop/leaving.test", "does not send by the model of a sub-task what it put into the task"),
    ],
  },
  {
    id: "code: approvals",
    claim: "A person sees all of the code that will run, and a file that changed since the question does not run.",
    proofs: [
      proof(
        "loop/approval.test",
        "is asked again when the file has changed since: the new content does not run unseen",
      ),
      proof("cli/cells.long", "is shown whole, with line numbers, before the answer and by goald show"),
      proof("loop/approval.test", "sees the whole file as it was at the question, and an unchanged file runs"),
      proof("loop/approval.test", "has numbered lines, and its control and unseen characters are written out"),
    ],
  },
  {
    id: "code: limits",
    claim: "Code that does not end is stopped, its output is cut and cleaned, and the next cell works.",
    proofs: [
      proof("sandbox/sandbox.test", "stops code at its time limit, and the next cell works", "contracts/sandbox"),
      proof("sandbox/sandbox.test", "cuts a long output, and cleans it of control characters", "contracts/sandbox"),
      proof("sandbox/python-engine.test", "gets MemoryError at the limit of memory, and goes on"),
      proof("sandbox/sandbox.test", "are never more than permitted, and no namespace is lost"),
      proof("loop/cells.test", "pause the agent when three in a row failed"),
    ],
  },
  {
    id: "code: crashes",
    claim: "A cell whose process or host was killed repeats no effect of its calls.",
    proofs: [
      proof(
        "loop/cells-crash.test",
        "runs again without repeating an effect, at every commit, with the same seed, time and namespace",
      ),
      proof("seeds/general-agent.long", "resumes at ten points and repeats no nested call"),
      proof("loop/cells-crash.test", "has an unknown outcome when it takes another way the second time"),
    ],
  },
  {
    id: "code: agents",
    claim: "Each agent has namespaces of its own.",
    proofs: [proof("sandbox/sandbox.test", "gives each agent a namespace of its own", "contracts/sandbox")],
  },
];
