/** Failures that the attack on goald of 2026-11-22 found, each mended. */
import { type Defence, proof, withBubblewrap } from "./defence.ts";

export const FINDINGS: readonly Defence[] = [
  {
    id: "F1",
    claim:
      "After a stranger's page, no address that nobody gave is opened unasked, by no command, code or sub-agent, and a search or message takes few words along.",
    proofs: [
      proof("loop/leaving.test", "waits for a person, says what would go where, and goes after a yes"),
      proof("loop/leaving.test", "is refused when nobody can be asked, and the run goes on"),
      proof(
        "cli/what-may-leave.long",
        "sends nothing unasked, by address, search, memory, message or child: in the background, in front, continuous",
      ),
      proof("cli/what-may-leave.long", "sends it with the rule switched off"),
      proof("loop/research-run.long", "asks nothing, and so is refused nothing when nobody can be asked"),
      proof("cli/what-may-leave.long", "asks at most two questions in the background"),
      proof(
        "cli/what-may-leave.long",
        "is refused nothing when nobody can be asked, but then a search for words of its brief is",
      ),
      proof(
        "loop/egress.test",
        "none of 87 attacks brings anything to an address that nobody named, but for 19 choices among its links",
      ),
      proof(
        "loop/egress.test",
        "of 21 attacks by the search service, numbers and long texts do not leave, and 100 characters in a disguise do",
      ),
      proof("loop/egress.test", "of 29 honest flows, made-up addresses and the 21st page of one site stop"),
      proof("loop/egress.test", "that an answer repeats from the call is still the model's"),
      proof("loop/egress.test", "may be followed from a file of the folder unless the agent wrote it: %s"),
    ],
  },
  {
    id: "F2",
    claim: "A page or PDF that takes memory, time or output ends its reader, never the host or another agent.",
    proofs: [
      proof(
        "services/services.long",
        "inflate a PDF of 200 KB to 200 MB is refused in plain words, and the host does not grow",
      ),
      proof("services/services.long", "exit is read plainly if it is HTML, else refused, and the next page is read"),
      proof("services/services.long", "are at most two, of which one is kept"),
      proof(
        "cli/services.long",
        "reads a PDF of 1 MB that inflates to 1 GB, and other bombs, and neither it nor the other agent notices",
      ),
    ],
  },
  {
    id: "F2: cage",
    claim: "What reads strangers' bytes sees no file, process, environment or network, and the system limits it.",
    proofs: [
      withBubblewrap(
        proof("cage/cage.test", "shows no file of the machine, no process, no environment and no network"),
      ),
      withBubblewrap(
        proof("cage/cage.test", "starts no further process for a command that runs no programs, also for root"),
      ),
      proof("cage/cage.test", "is stopped by the limits of files and processor time"),
      proof("cage/cage.test", "has no environment, and node refuses files and processes"),
    ],
  },
  {
    id: "F3",
    claim: "`why` and `report` name the pages, downloads and clones that an agent read before it wrote a file.",
    proofs: [
      proof("views/files.test", "contain the page that it read, with its host, and where it is kept"),
      proof("views/files.test", "is in why, for every version that was written after it"),
      proof("views/files.test", "is in the report, and in its opening"),
    ],
  },
  {
    id: "F4",
    claim:
      "Words from outside stay marked through files, moves, crashes, failures, sub-agents, export and import, until a person trusts them.",
    proofs: [
      proof("loop/provenance.test", "is tainted, in "),
      proof("loop/provenance.test", "is asked about nothing more after y -20 when nothing came from outside"),
      proof(
        "loop/provenance.test",
        "carries the words of its writer and of its last version, through moves and appends",
      ),
      proof(
        "loop/provenance.test",
        "says whose words a failure quotes, apart from goald's own, and through which file words came",
      ),
      proof("services/clone.test", "quotes the server's words apart from goald's own"),
      proof("cli/memory.test", "keeps whose words from outside a memory holds, from home to home"),
      proof("host/host-control.test", "in a file leaves the agent as it is, and makes the file's words clean"),
    ],
  },
  {
    id: "F5",
    claim:
      "No write, download or move makes a folder that git takes for a repository; files that other programs run are asked about.",
    proofs: [
      proof("workspace/place-folder.test", "never makes a folder that git answers to as its repository"),
      proof("workspace/place-folder.test", "is refused in other forms and spellings: %j"),
      proof("loop/approval.test", "is asked about before %s %j, with who runs it and when"),
      proof("loop/approval.test", "is asked about although a person approved the next twenty commands"),
      proof("loop/approval.test", "is refused where nobody is asked, and the agent goes on: %s %j"),
    ],
  },
  {
    id: "F6",
    claim:
      "A clone is made outside the folder, checked, and moved in; git reaches its one server and runs no program of the repository.",
    proofs: [
      proof(
        "commands/clone-swapped.long",
        "a clone reads, writes and runs nothing outside while the folder above is swapped for a link",
      ),
      proof("workspace/place-folder.test", "is refused with %s, and leaves nothing"),
      withBubblewrap(
        proof("services/clone.test", "reaches no server but the judged one, neither by itself nor through the tunnel"),
      ),
      proof("services/clone.test", "has settings of goald's own, and nothing else that git would run"),
    ],
  },
  {
    id: "F7",
    claim: "A recording keeps no key, also when a reply brings it in pieces, and still replays.",
    proofs: [
      proof("cassette/recording.test", "holds no form of it in its lines"),
      proof("cassette/recording.test", "replays without the keys to the same events and state"),
    ],
  },
  {
    id: "F8",
    claim:
      "A home, or a part of it, that another user owns or may change is refused by every verb that loads anything from it.",
    proofs: [
      proof("cli/home.test", "is refused by every verb that loads anything from it, with the call that mends it"),
      proof("cli/home.test", "is refused for %s"),
      proof("cli/home.test", "is refused for the target of a link, and for the folder of that target"),
    ],
  },
  {
    id: "F9",
    claim: "Control characters and marks without width are in the output of no verb.",
    proofs: [
      proof("cli/advisories.long", "is in the output of any verb, as text or as JSON"),
      proof("cli/advisories.long", "is lost from an exported memory: each line is JSON that holds the same text"),
    ],
  },
  {
    id: "F10: quotas",
    claim: "Folder, kept pages and history have a quota, and what an agent may delete makes room again.",
    proofs: [
      proof(
        "workspace/workspace.test",
        "refuses a write before it is made, names the setting, and admits it once something is deleted",
      ),
      proof(
        "workspace/workspace.test",
        "counts what is stored and what one call adds, and leaves known files deletable",
      ),
      proof("workspace/workspace.test", "is shared by an agent and its sub-agents"),
      proof("loop/approval.test", "a file over 64 MB"),
    ],
  },
  {
    id: "F10: a parent's words",
    claim: "The job of a helper whose parent had read text from outside is data, not a part of the system message.",
    proofs: [
      proof(
        "loop/provenance.test",
        "of a helper has the job as data when its parent had read text from outside, and no word of it in the system message",
      ),
    ],
  },
  {
    id: "F10: kept pages",
    claim: "A kept page holds no key of the settings, and no image that a preview fetches.",
    proofs: [
      proof(
        "commands/web.test",
        "keeps a page that echoes a key without it, and shows it neither to the model nor in the answer",
      ),
      proof("util/text.test", "is written so that a preview fetches nothing: %j"),
    ],
  },
  {
    id: "F10: hostile recordings",
    claim: "A stranger's recording neither loops nor writes below `.git`, and a device is not read as one.",
    proofs: [
      proof("cassette/recording.test", "is refused for %s"),
      proof("cassette/recording.test", "cannot write %s"),
      proof("cassette/recording.test", "is not read when it is a device, a pipe, a folder or larger than 256 MB"),
    ],
  },
  {
    id: "F10: own public addresses",
    claim: "git does not reach this machine by one of its public addresses.",
    proofs: [proof("services/clone.test", "is refused if it is a public address of this machine")],
  },
  {
    id: "F10: marks without width",
    claim: "Names with marks that nobody sees are refused.",
    proofs: [proof("core/words.test", "is refused in the name of an agent, with its code point")],
  },
  {
    id: "F10: approvals",
    claim: "An approval is for one call, is given once, and expires as set.",
    proofs: [
      proof(
        "host/host-control.test",
        "that arrives twice before the agent reads it approves one call, and not the next one",
      ),
      proof(
        "host/host-control.test",
        "that names another call than the waiting one is refused, and the refusal names what waits",
      ),
      proof("host/host-control.test", "counts as denied after its time: the model reads so, and the agent goes on"),
    ],
  },
  {
    id: "F10: debugger",
    claim: "SIGUSR1 opens no debugger.",
    proofs: [
      proof("cli/advisories.long", "opens no debugger in a run in front of a person"),
      proof("cli/advisories.long", "opens no debugger in the daemon"),
    ],
  },
  {
    id: "F10: half-sent heads",
    claim: "Clients that send half a request leave room for calls.",
    proofs: [proof("api/api.long", "leave room for calls, however many clients send half a head")],
  },
  {
    id: "F10: log as a link",
    claim: "A log that is a link is named in a sentence, and nothing is written through it.",
    proofs: [proof("cli/home.test", "is named in a sentence, and nothing is written through it")],
  },
];
