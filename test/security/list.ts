/** list.ts -- all that `npm run test:security` proves, by area. */
import { type Defence, type Proof, proof, withBubblewrap } from "./defence.ts";

const REAL = "cli/advisories.long";
const DOOR = "http/public-door.test";
const API = "api/server.test";
const HOSTILE = "security/hostile-replies.test";

type Row = readonly [claim: string, ...proofs: readonly Proof[]];
/** Rows by their id. */
const area = (rows: Readonly<Record<string, Row>>): readonly Defence[] =>
  Object.entries(rows).map(([id, [claim, ...proofs]]) => ({ id, claim, proofs }));

const ADVISORIES = area({
  "CVE-2023-37273": [
    "An agent cannot change goald's own files: program, settings, prompts, commands, store.",
    proof(HOSTILE, "CVE-2023-37273, CVE-2023-37274: leaves goald's own files and the home's settings"),
  ],
  "CVE-2023-37274": [
    "No path of a command leaves the agent's folder.",
    proof("workspace/confinement.test", "reads and changes nothing outside (%s)"),
    proof("workspace/workspace.test", "rejects %j", "contracts/workspace"),
  ],
  "CVE-2023-37275": [
    "Control characters of a model, page or file reach no terminal, log or report.",
    proof(REAL, "is in the output of any verb, as text or as JSON"),
    proof(API, "CVE-2023-37275: control characters are escaped in what is sent, and none is lost"),
  ],
  "CVE-2024-1879": [
    "A web page cannot use the local API.",
    proof(REAL, "CVE-2024-1879: a request that a web page can send creates no agent"),
    proof(API, "%s is rejected with %i and has no effect"),
  ],
  "CVE-2024-1880, CVE-2024-1881, CVE-2024-6091": [
    "No text of a model reaches a shell.",
    proof(HOSTILE, "CVE-2024-1880, CVE-2024-1881, CVE-2024-6091: makes no file by text for a shell"),
    proof(HOSTILE, "no source starts a shell or takes a whole command line"),
  ],
  "AutoGPT issue 4857": [
    "After text from outside, approvals that were given ahead no longer cover risky commands.",
    proof(HOSTILE, "AutoGPT issue 4857: approvals given ahead do not cover a risky command after a page"),
  ],
  "AutoGPT: git token to any host": [
    "A git key is sent to its own server only.",
    proof("services/clone.test", "is not sent to another server, and no message shows it"),
  ],
  "AutoGPT: quoted JSON is dispatched": [
    "A reply that holds two different commands runs none.",
    proof("reply/hostile.test", "never returns a command that was not meant"),
    proof("reply/read.test", "two commands"),
  ],
  "CVE-2024-1881: one word of an allow list": [
    "A command runs by its exact name in the profile.",
    proof("cli/advisories.long", "offers these groups and names only: in the prompt, in the grammar"),
  ],
  "CVE-2025-0454, CVE-2025-22603, CVE-2026-56663": [
    "Private, local and metadata addresses are not reached, however they are written.",
    proof(DOOR, "are not reached by %s"),
    proof(API, "CVE-2025-0454: for a Host with a backslash"),
  ],
  "CVE-2025-31490": [
    "The address that was checked is the address that is connected to.",
    proof(DOOR, "is resolved once per connection: the checked address is connected to"),
    proof("services/clone.test", "is resolved once: git connects to the checked address, even if the name changes"),
  ],
  "CVE-2025-31491": [
    "Credentials do not follow a redirect to another origin.",
    proof(DOOR, "drops possible credentials at another origin, even if it leads back"),
  ],
  "CVE-2025-62616, GHSA-r55v-q5pc-j57f, GHSA-4jwj-6mg5-wrwf": [
    "No part of goald opens connections beside the guarded doors.",
    proof("architecture.test", "HTTP leaves by one module"),
  ],
  "CVE-2025-1040": [
    "Goals, words and files are never read as templates.",
    proof(HOSTILE, "CVE-2025-1040: template marks in goals, words and files stay literal"),
    proof("prompt/words.test", "replaces every placeholder in one pass"),
  ],
  "CVE-2026-24780, CVE-2026-26020": [
    "A command that is switched off, unknown or denied stays so by every door: reply, sub-agent, nested call, sub-task, API, replay.",
    proof("security/doors.test", "is refused by %s, with the same words"),
    proof("security/doors.test", "is not run by a yes over the API once its command was switched off"),
    proof("security/doors.test", "is not run after a no over the API, and the model reads the person's words"),
    proof("security/doors.test", "a person's no stays so in the call of a command and in a sub-agent"),
    proof("security/doors.test", "a replay refuses a command that was switched off"),
    proof("security/doors.test", "no route of the API runs a command"),
  ],
  "CVE-2025-53944, CVE-2025-31494, CVE-2026-30950": [
    "A call for one agent neither reads nor changes another.",
    proof(REAL, "CVE-2025-53944: a call for one agent never affects another"),
    proof("api/server.test", "CVE-2025-53944: never shows a reader of one agent an event", "contracts/local-api"),
  ],
  "GHSA-24q6-6h89-f9p7, GHSA-57mf-wqwq-6g6x": [
    "Placeholders of an example file are never used as keys.",
    proof("config/settings.test", "your-openai-api-key"),
    proof("config/settings.test", "ignores a placeholder in goald.json"),
  ],
  "CVE-2026-22038": [
    "Keys are in no log, event, prompt, memory or output.",
    proof(REAL, "CVE-2026-22038: a key that the model repeats is in no file and in no output"),
    proof(API, "CVE-2026-22038: no key is in a reply, a page, a stream or a problem report"),
  ],
  "CVE-2026-33233": [
    "Stored and received data is plain JSON; names such as __proto__ have no effect.",
    proof(REAL, "CVE-2026-33233: a name such as __proto__ in a body is rejected or has no effect"),
    proof("reply/hostile.test", "neither changes nor uses Object.prototype"),
  ],
  "CVE-2026-26006, CVE-2026-33235, CVE-2025-32393": [
    "No reply, page or text takes more than linear time.",
    proof("reply/hostile.test", "50,000 spaces after a fence"),
    proof("reply/hostile.test", "many such fences"),
    proof("util/text.test", "keeps the invariants for any text and any options"),
    proof("services/pages.test", "of %s is read within its time limit"),
  ],
  "CVE-2026-33232": [
    "Folders and store cannot grow without limit, and a full disk loses nothing.",
    proof(REAL, "CVE-2026-33232: an agent that writes without end stops at its quota, and goes on after it deletes"),
    proof("loop/purchases.test", "counts over the agent's life, and refuses before anything more is saved"),
    proof("workspace/workspace.test", "refuses a write before it is made, names the setting"),
    proof("workspace/workspace.test", "a full disk"),
    proof("store/store.long", "fails every write of a group on a full disk, keeps earlier ones"),
  ],
});

// Failures that the attack on goald of 2026-11-22 found, each mended.

const FINDINGS = area({
  F1: [
    "After a stranger's page, no address that nobody gave is opened unasked, by no command, code or sub-agent, and a search or message takes few words along.",
    proof("loop/leaving.test", "waits for a person, says what would go where, and goes after a yes"),
    proof("loop/leaving.test", "is refused when nobody can be asked, and the run goes on"),
    proof("cli/what-may-leave.long", "sends nothing unasked, by address, search, memory, message or child"),
    proof("cli/what-may-leave.long", "sends it with the rule switched off"),
    proof("cli/what-may-leave.long", "asks at most two questions in the background"),
    proof("cli/what-may-leave.long", "is refused nothing when nobody can be asked"),
    proof("loop/egress.test", "none of 87 attacks brings anything to an address that nobody named"),
    proof("loop/egress.test", "of 21 attacks by the search service, numbers and long texts do not leave"),
    proof("loop/egress.test", "of 29 honest flows, made-up addresses and the 21st page of one site stop"),
    proof("loop/egress.test", "that an answer repeats from the call is still the model's"),
    proof("loop/egress.test", "may be followed from a file of the folder unless the agent wrote it: %s"),
  ],
  F2: [
    "A page or PDF that takes memory, time or output ends its reader, never the host or another agent.",
    proof("services/services.long", "inflate a PDF of 400 KB to 400 MB is refused in plain words"),
    proof("services/services.long", "exit is read plainly if it is HTML, else refused, and the next page is read"),
    proof("services/services.long", "are at most two, of which one is kept"),
    proof("cli/services.long", "reads a PDF of 1 MB that inflates to 1 GB, and other bombs"),
  ],
  "F2: cage": [
    "What reads strangers' bytes sees no file, process, environment or network, and the system limits it.",
    withBubblewrap(proof("cage/cage.test", "shows no file of the machine, no process, no environment and no network")),
    withBubblewrap(
      proof("cage/cage.test", "starts no further process for a command that runs no programs, also for root"),
    ),
    proof("cage/cage.test", "is stopped by the limits of files and processor time"),
    proof("cage/cage.test", "has no environment, and node refuses files and processes"),
  ],
  F3: [
    "`why` and `report` name the pages, downloads and clones that an agent read before it wrote a file.",
    proof("views/files.test", "contain the page that it read, with its host, and where it is kept"),
    proof("views/files.test", "is in why, for every version that was written after it"),
    proof("views/files.test", "is in the report, and in its opening"),
  ],
  F4: [
    "Words from outside stay marked through files, moves, crashes, failures, sub-agents, export and import, until a person trusts them.",
    proof("loop/provenance.test", "is tainted, in "),
    proof("loop/provenance.test", "is asked about nothing more after y -20 when nothing came from outside"),
    proof("loop/provenance.test", "carries the words of its writer and of its last version, through moves"),
    proof("loop/provenance.test", "says whose words a failure quotes, apart from goald's own, and through"),
    proof("services/clone.test", "quotes the server's words apart from goald's own"),
    proof("cli/memory.test", "keeps whose words from outside a memory holds, from home to home"),
    proof("host/host-control.test", "in a file leaves the agent as it is, and makes the file's words clean"),
  ],
  F5: [
    "No write, download or move makes a folder that git takes for a repository; files that other programs run are asked about.",
    proof("workspace/confinement.test", "is not completed by %s in any order, and git runs nothing"),
    proof("workspace/confinement.test", "is refused in other forms and spellings: %j"),
    proof("loop/approval.test", "is asked about before %s %j, and refused where nobody is asked"),
    proof("loop/approval.test", "is asked about although a person approved the next twenty commands"),
  ],
  F6: [
    "A clone is made outside the folder, checked, and moved in; git reaches its one server and runs no program of the repository.",
    proof("commands/clone_repository.long", "200 clones read, write and run nothing outside"),
    proof("workspace/confinement.test", "is refused with %s, and leaves nothing"),
    withBubblewrap(
      proof("services/clone.test", "reaches no server but the judged one, neither by itself nor through the tunnel"),
    ),
    proof("services/clone.test", "has settings of goald's own, and nothing else that git would run"),
  ],
  F7: [
    "A recording keeps no key, also when a reply brings it in pieces, and still replays.",
    proof("cassette/recording.test", "holds no form of it in its lines"),
    proof("cassette/recording.test", "replays without the keys to the same events and state"),
  ],
  F8: [
    "A home, or a part of it, that another user owns or may change is refused by every verb that loads anything from it.",
    proof("cli/home.test", "is refused by every verb that loads anything from it, with the call that mends it"),
    proof("cli/home.test", "is refused for %s"),
    proof("cli/home.test", "is refused for the target of a link, and for the folder of that target"),
  ],
  F9: [
    "Control characters and marks without width are in the output of no verb.",
    proof("cli/advisories.long", "is in the output of any verb, as text or as JSON"),
    proof("cli/advisories.long", "is lost from an exported memory: each line is JSON that holds the same text"),
  ],
  "F10: quotas": [
    "Folder, kept pages and history have a quota, and what an agent may delete makes room again.",
    proof("workspace/workspace.test", "refuses a write before it is made, names the setting"),
    proof("workspace/workspace.test", "counts what is stored and what one call adds"),
    proof("workspace/workspace.test", "is shared by an agent and its sub-agents"),
    proof("loop/approval.test", "a file over 64 MB"),
  ],
  "F10: a parent's words": [
    "The job of a helper whose parent had read text from outside is data, not a part of the system message.",
    proof("loop/provenance.test", "of a helper has the job as data"),
  ],
  "F10: kept pages": [
    "A kept page holds no key of the settings, and no image that a preview fetches.",
    proof("commands/web.test", "keeps a page that echoes a key without it, and shows it neither to the model"),
    proof("util/text.test", "is written so that a preview fetches nothing: %j"),
  ],
  "F10: hostile recordings": [
    "A stranger's recording neither loops nor writes below `.git`, and a device is not read as one.",
    proof("cassette/recording.test", "is refused for %s"),
    proof("cassette/recording.test", "cannot write %s"),
    proof("cassette/recording.test", "is not read when it is a device, a pipe, a folder or larger than 256 MB"),
  ],
  "F10: own public addresses": [
    "git does not reach this machine by one of its public addresses.",
    proof("services/clone.test", "is refused if it is a public address of this machine"),
  ],
  "F10: marks without width": [
    "Names with marks that nobody sees are refused.",
    proof("core/words.test", "is refused in the name of an agent, with its code point"),
  ],
  "F10: approvals": [
    "An approval is for one call, which is shown as it would run, is given once, and expires as set.",
    proof("cli/run.test", "about a command shows it as it would run, without known keys, and no other view does"),
    proof(
      "host/host-control.test",
      "of two that arrive before the agent reads one counts, for one call; the other is refused, also a denial",
    ),
    proof("host/host-control.test", "counts as denied after its time: the model reads so, and the agent goes on"),
  ],
  "F10: debugger": [
    "SIGUSR1 opens no debugger.",
    proof("cli/advisories.long", "opens no debugger in a run in front of a person"),
  ],
  "F10: half-sent heads": [
    "Clients that send half a request leave room for calls.",
    proof("api/socket.test", "leave room for calls, however many clients send half a head"),
  ],
  "F10: log as a link": [
    "A log that is a link is named in a sentence, and nothing is written through it.",
    proof("cli/home.test", "is named in a sentence, and nothing is written through it"),
  ],
});

// Code that a model wrote: what it reaches, what it may do, and what people see of it.

const CODE = area({
  "code: attacks": [
    "Hostile Python reads, writes and reaches nothing outside, strict and degraded, with all imports allowed; the next cell works.",
    proof("security/sandbox-attacks.long", "attacks in Python, in a cage that is "),
    proof("security/sandbox-attacks.long", "sees what an attack does"),
  ],
  "code: a process that was taken over": [
    "A process that hostile code controls is ended when it sends anything but the messages of a cell; its host keeps its prototypes, and a terminal its lines.",
    proof("sandbox/sandbox.long", "is ended when it sends %s"),
    proof("sandbox/sandbox.long", "is ended at the time limit after %s"),
    proof("sandbox/sandbox.long", "cannot send control characters"),
    proof("sandbox/sandbox.long", "cannot change a prototype of the host"),
    proof("sandbox/sandbox.long", "is used while it keeps to the conversation"),
  ],
  "code: files": [
    "Files of code are read and written by the rules of every command: paths, quotas, history, and the question about files that others run.",
    proof("loop/cells.test", "ask a person when others run them, and are refused when nobody can be asked"),
    proof("loop/cells.test", "keep what they held, up to 64 MB, and the result says what cannot be restored"),
    proof("loop/cells.test", "does nothing for a command that is not a cell"),
    proof("loop/cells.test", "is not offered to the model, and is refused when a reply names it"),
  ],
  "code: checks of an agent file": [
    "Without a strict cage, code of checks from an agent file asks once before it runs, and the question shows all of it; a no leaves it unrun.",
    proof("loop/goal-checks.test", "asks once with the words of run_code"),
    proof("loop/goal-checks.test", "never runs after a no"),
    proof("loop/goal-checks.test", "is approved once, whenever the power is cut"),
    proof("cli/run.test", "asks once before they run, shows all of their code"),
  ],
  "code: calls": [
    "A call of code is judged, limited and recorded as a call of the model; a cell makes at most 1,000.",
    proof("loop/cells.test", "is a call of its own in the log, and code gets its value"),
    proof("loop/cells.test", "does not reach %s"),
    proof("loop/cells.test", "may be made 1,000 times by one cell, and then fails in words"),
  ],
  "code: what leaves": [
    "What code sends is judged like what the model sends: it opens no address that nobody gave, and says few words of its own.",
    proof("loop/leaving.test", "from the same cell"),
    proof("loop/leaving.test", "from a later cell, with another process between them"),
    proof("loop/leaving.test", "and would send it with the rule switched off"),
    proof("loop/leaving.test", "does not send a number of a file that it read, by a search or a message"),
    proof("loop/leaving.test", "follows an address of a file that a person put there"),
    proof("loop/leaving.test", "does not send by the model of a sub-task what it put into the task"),
  ],
  "code: approvals": [
    "A person sees all of the code that will run, and a file that changed since the question does not run.",
    proof("loop/approval.test", "is asked again when the file has changed since"),
    proof("cli/cells.long", "is shown whole, with line numbers, before the answer and by goald show"),
    proof("loop/approval.test", "sees the whole file as it was at the question, and an unchanged file runs"),
    proof("loop/approval.test", "has numbered lines, and its control and unseen characters are written out"),
  ],
  "code: limits": [
    "Code that does not end is stopped, its output is cut and cleaned, and the next cell works.",
    proof("sandbox/python-engine.test", "ends at its time limit, also in sleep, and keeps the namespace"),
    proof("sandbox/python-engine.test", "keeps the start and the end of long output"),
    proof("sandbox/sandbox.long", "cannot send control characters"),
    proof("sandbox/python-engine.test", "gets MemoryError at the limit of memory, and goes on"),
    proof("sandbox/sandbox.test", "are never more than permitted, and no namespace is lost"),
    proof("loop/cells.test", "pause the agent when three in a row failed"),
  ],
  "code: crashes": [
    "A cell whose process or host was killed repeats no effect of its calls.",
    proof("loop/cells.test", "runs again without repeating an effect, at every commit, with the same seed, time"),
    proof("seeds/books.long", "are finished although the daemon is killed with -9 six times"),
    proof("loop/nested.test", "has an unknown outcome when its second run asks for %s"),
  ],
  "code: agents": [
    "Each agent has namespaces of its own.",
    proof("sandbox/sandbox.test", "starts with an empty namespace when nothing was saved", "contracts/sandbox"),
  ],
});

// Areas that held in the attack on goald of 2026-11-22, and stay held.

const HELD = area({
  addresses: [
    "Every form of a private, local or metadata address is refused, in pages and in git.",
    proof("http/public-door.test", "are not reached by %s"),
    proof("http/public-door.test", "are reached by all of these forms without the guard"),
    proof("services/clone.test", "is never a metadata service, even if allowed"),
    proof("services/clone.test", "is refused if only one of several addresses is private"),
  ],
  "hostile servers": [
    "Bombs, floods, silence, endless bodies and redirects end within limits.",
    proof("http/http.test", "ends a silent body"),
    proof("http/public-door.test", "count decompressed bytes: a %s bomb of 16 MB is aborted at the limit"),
    proof("http/public-door.test", "is not followed a sixth time"),
    proof("services/web.test", "costs little if hostile: 20,000 programs with 20,000 rules, endless text"),
  ],
  "hostile model servers": [
    "An endless, deep or lying stream of a model server is not read to its end.",
    proof("model/streaming.test", "of %s is not read to its end"),
  ],
  paths: [
    "No spelling of a path leaves the agent's folder or enters goald's own.",
    proof("workspace/workspace.test", "rejects %j", "contracts/workspace"),
    proof("workspace/confinement.test", "fails for a resolver that compares prefixes (control)"),
    proof("workspace/confinement.test", "refuses %s in every operation, and changes nothing outside"),
  ],
  "link races": [
    "A folder that is swapped for a link between check and use leads nowhere (Linux).",
    proof("workspace/confinement.test", "never leads outside, whatever the timing of the swaps"),
    proof("workspace/confinement.test", "deceives a resolver that checks the real path only once (control)"),
  ],
  "local API": [
    "Foreign Hosts, Origins, types, smuggled heads and deep bodies are refused before they have an effect; the socket is private.",
    proof("api/server.test", "%s is rejected with %i before it has any effect"),
    proof("api/server.test", "%s is rejected with %i and has no effect"),
    proof("api/socket.test", "is private to its owner whatever the umask is, and is removed when the server closes"),
    proof("api/socket.test", "never replaces a file, a folder, or a link to a socket"),
    proof("api/socket.test", "reject one connection too many with an error, and accept it after another has closed"),
  ],
  homes: [
    "A home that is found by walking upward is not read before a person trusts it; private folders stay private.",
    proof("cli/home.long", "is rejected without a terminal (exit 1), and nothing in it is read"),
    proof("config/home.test", "is not read before it is trusted"),
    proof("config/home.test", "refuses a .goald that belongs to another user"),
    proof("config/home.test", "lets no other user write to the folders, whatever the umask"),
  ],
  "YAML and settings": [
    "An agent file and a .env are data: no tags, no expanding aliases, no change of the environment.",
    proof("config/agent-file.test", "refuses aliases that expand to gigabytes, before expanding them"),
    proof("config/agent-file.test", "refuses a file that %s, and names the line"),
    proof("config/settings.test", "never changes the environment of this process"),
  ],
  "terminal output": [
    "Control sequences and invisible letters are removed from all that a terminal shows.",
    proof("util/text.test", "removes %s"),
    proof("util/text.test", "leaves no control character, and cleaning twice changes nothing more"),
    proof("cli/advisories.long", "is in the output of any verb, as text or as JSON"),
    proof("cli/terminal/show-run.test", "hides nothing of a command that waits for a yes: %s"),
  ],
  secrets: [
    "Keys are removed by value, in the encodings that text usually has, and by pattern.",
    proof("util/log.test", "finds a secret %s"),
    proof("util/log.test", "keeps any JSON valid, hides every secret, and needs one pass"),
    proof("util/log.test", "shows no secret in %s"),
    proof("services/clone.test", "is not in the arguments of any process"),
  ],
  fuzz: [
    "Hostile text costs linear time: replies, redaction, cleaning, pages, passages.",
    proof("reply/hostile.test", "of %s is refused in words"),
    proof("util/log.test", "reads megabytes of hostile text in linear time"),
    proof("util/text.test", "takes linear time, even for openers without an end"),
    proof("services/pages.test", "of %s is read within its time limit"),
  ],
});

// All that `npm run test:security` proves, by area.

const PAGE_DOOR = "security/page-door.test";

const PAGE = area({
  "page: another page": [
    "A page on another port or of another site cannot use the door, by fetch, form, preflight or navigation.",
    proof(PAGE_DOOR, "%s is refused with %i, even with a key"),
    proof(PAGE_DOOR, "%s is let in when that guard is off and it has a key"),
    proof(PAGE_DOOR, "that a browser marks as %s is refused with 403"),
    proof(PAGE_DOOR, "gets no permission by a preflight"),
    proof(PAGE_DOOR, "cannot post a form: the type %j is refused with 415, and the same body"),
  ],
  "page: DNS rebinding": [
    "A name that leads to 127.0.0.1 is refused by its Host.",
    proof(PAGE_DOOR, "%s is refused with %i, even with a key"),
  ],
  "page: sessions": [
    "No call is made without a key: a ticket works once and for a minute, a key for 12 hours and in one process.",
    proof(PAGE_DOOR, "%s %s is refused with 401"),
    proof(PAGE_DOOR, "is refused with a key %s"),
    proof(PAGE_DOOR, "is refused with a ticket in place of the key, and no answer sets a cookie"),
    proof(PAGE_DOOR, "begins no second session with a used ticket; a door that forgets to use it up does (control)"),
    proof("api/door.test", "works for a minute, and the address says until when"),
    proof("api/door.test", "lasts twelve hours, and ends what it follows"),
    proof("api/door.test", "goes on at the next door when the daemon has died, at the same port"),
    proof("api/door.test", "ends when the daemon ends in order, and the next server opens no door by itself"),
  ],
  "page: a program in the daemon's place": [
    "A program that takes the page's port while the daemon is gone gets no key that opens anything.",
    proof(PAGE_DOOR, "gets no key by passing on an answer; who asked there does (control)"),
    proof("api/door.test", "goes on at the next door when the daemon has died, at the same port"),
  ],
  "page: files of agents": [
    "A file of an agent is never a document, whatever is in it and in its name.",
    proof(PAGE_DOOR, "with a script, %s, is a document at no address, and would run nothing"),
    proof(PAGE_DOOR, "of the name %j is in JSON alone: in no header, and whole when it is parsed"),
  ],
  "page: paths": [
    "No spelling of a path leads to a file outside of the table.",
    proof(PAGE_DOOR, "leads to no file but those of the table, however it is spelled"),
    proof(PAGE_DOOR, "reads nothing by the spelling %s"),
  ],
  "page: frames and scripts": [
    "Every answer has the strictest policy: no frame, no foreign or inline script, no HTML made from text.",
    proof(PAGE_DOOR, "may be in no frame, and forbids all that the page does not need: %s (%i)"),
  ],
  "page: addresses": [
    "The door listens on 127.0.0.1 alone, and only after somebody has asked for it over the socket.",
    proof("api/door.test", "listens on 127.0.0.1 alone"),
    proof("api/door.test", "is closed, and its code is not loaded, until somebody asks for it; then it stays"),
  ],
});

export const AREAS: Readonly<Record<string, readonly Defence[]>> = {
  "Advisories against AutoGPT": ADVISORIES,
  "Failures of the security review": FINDINGS,
  "Code that a model wrote": CODE,
  "The door of the page": PAGE,
  "What held in the security review": HELD,
};

export const DEFENCES: readonly Defence[] = Object.values(AREAS).flat();
