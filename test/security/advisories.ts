/** Advisories against AutoGPT that map to goald. Others concern parts that goald does not have, such as webhooks. */
import { type Defence, proof } from "./defence.ts";

const REAL = "cli/advisories.long";
const DOOR = "http/public-door.test";
const API = "api/server.test";
const HOSTILE = "security/hostile-replies.test";

export const ADVISORIES: readonly Defence[] = [
  {
    id: "CVE-2023-37273",
    claim: "An agent cannot change goald's own files: program, settings, prompts, commands, store.",
    proofs: [
      proof(HOSTILE, "CVE-2023-37273, CVE-2023-37274: leaves goald's own files and the home's settings as they were"),
    ],
  },
  {
    id: "CVE-2023-37274",
    claim: "No path of a command leaves the agent's folder.",
    proofs: [
      proof("workspace/confinement.test", "reads and changes nothing outside (%s)"),
      proof("workspace/workspace.test", "rejects %j", "contracts/workspace"),
    ],
  },
  {
    id: "CVE-2023-37275",
    claim: "Control characters of a model, page or file reach no terminal, log or report.",
    proofs: [
      proof(REAL, "CVE-2023-37275: no control character of a model reaches a terminal, a log or a report"),
      proof(API, "CVE-2023-37275: control characters are escaped in what is sent, and none is lost"),
    ],
  },
  {
    id: "CVE-2024-1879",
    claim: "A web page cannot use the local API.",
    proofs: [
      proof(
        REAL,
        "CVE-2024-1879: a request that a web page can send creates no agent, and the socket is private to its owner",
      ),
      proof(API, "%s is rejected with %i and has no effect"),
    ],
  },
  {
    id: "CVE-2024-1880, CVE-2024-1881, CVE-2024-6091",
    claim: "No text of a model reaches a shell.",
    proofs: [
      proof(HOSTILE, "CVE-2024-1880, CVE-2024-1881, CVE-2024-6091: makes no file by text for a shell"),
      proof(HOSTILE, "no source starts a shell or takes a whole command line"),
    ],
  },
  {
    id: "AutoGPT issue 4857",
    claim: "After text from outside, approvals that were given ahead no longer cover risky commands.",
    proofs: [proof(HOSTILE, "AutoGPT issue 4857: approvals given ahead do not cover a risky command after a page")],
  },
  {
    id: "AutoGPT: git token to any host",
    claim: "A git key is sent to its own server only.",
    proofs: [proof("services/clone.test", "is not sent to another server, and no message shows it")],
  },
  {
    id: "AutoGPT: quoted JSON is dispatched",
    claim: "A reply that holds two different commands runs none.",
    proofs: [
      proof("reply/hostile.test", "never returns a command that was not meant"),
      proof("reply/read.test", "two commands"),
    ],
  },
  {
    id: "CVE-2024-1881: one word of an allow list",
    claim: "A command runs by its exact name in the profile.",
    proofs: [
      proof(
        "cli/advisories.long",
        "offers these groups and names only: in the prompt, in the grammar, and when they run",
      ),
    ],
  },
  {
    id: "CVE-2025-0454, CVE-2025-22603, CVE-2026-56663",
    claim: "Private, local and metadata addresses are not reached, however they are written.",
    proofs: [proof(DOOR, "are not reached by %s"), proof(API, "CVE-2025-0454: for a Host with a backslash")],
  },
  {
    id: "CVE-2025-31490",
    claim: "The address that was checked is the address that is connected to.",
    proofs: [
      proof(DOOR, "is resolved once per connection: the checked address is connected to"),
      proof("services/clone.test", "is resolved once: git connects to the checked address, even if the name changes"),
    ],
  },
  {
    id: "CVE-2025-31491",
    claim: "Credentials do not follow a redirect to another origin.",
    proofs: [proof(DOOR, "drops possible credentials at another origin, even if it leads back")],
  },
  {
    id: "CVE-2025-62616, GHSA-r55v-q5pc-j57f, GHSA-4jwj-6mg5-wrwf",
    claim: "No part of goald opens connections beside the guarded doors.",
    proofs: [proof("architecture.test", "HTTP leaves by one module")],
  },
  {
    id: "CVE-2025-1040",
    claim: "Goals, words and files are never read as templates.",
    proofs: [
      proof(HOSTILE, "CVE-2025-1040: template marks in goals, words and files stay literal"),
      proof("prompt/words.test", "replaces every placeholder in one pass"),
    ],
  },
  {
    id: "CVE-2026-24780, CVE-2026-26020",
    claim:
      "A command that is switched off, unknown or denied stays so by every door: reply, sub-agent, nested call, sub-task, API, replay.",
    proofs: [
      proof("security/doors.test", "is refused by %s, with the same words"),
      proof(
        "security/doors.test",
        "is not run by a yes over the API once its command was switched off, and the words are the same",
      ),
      proof("security/doors.test", "is not run after a no over the API, and the model reads the person's words"),
      proof("security/doors.test", "a person's no stays so in the call of a command and in a sub-agent"),
      proof(
        "security/doors.test",
        "a replay refuses a command that was switched off with the words of the recorded run, and does not run it",
      ),
      proof("security/doors.test", "no route of the API runs a command"),
    ],
  },
  {
    id: "CVE-2025-53944, CVE-2025-31494, CVE-2026-30950",
    claim: "A call for one agent neither reads nor changes another.",
    proofs: [
      proof(REAL, "CVE-2025-53944: a call for one agent never affects another"),
      proof(
        "api/server.test",
        "CVE-2025-53944: never shows a reader of one agent an event of another",
        "contracts/local-api",
      ),
    ],
  },
  {
    id: "GHSA-24q6-6h89-f9p7, GHSA-57mf-wqwq-6g6x",
    claim: "Placeholders of an example file are never used as keys.",
    proofs: [
      proof("config/settings.test", "your-openai-api-key"),
      proof("config/settings.test", "ignores a placeholder in goald.json"),
    ],
  },
  {
    id: "CVE-2026-22038",
    claim: "Keys are in no log, event, prompt, memory or output.",
    proofs: [
      proof(REAL, "CVE-2026-22038: a key that the model repeats is in no file and in no output"),
      proof(API, "CVE-2026-22038: no key is in a reply, a page, a stream or a problem report"),
    ],
  },
  {
    id: "CVE-2026-33233",
    claim: "Stored and received data is plain JSON; names such as __proto__ have no effect.",
    proofs: [
      proof(REAL, "CVE-2026-33233: a name such as __proto__ in a body is rejected or has no effect"),
      proof("reply/hostile.test", "neither changes nor uses Object.prototype"),
    ],
  },
  {
    id: "CVE-2026-26006, CVE-2026-33235, CVE-2025-32393",
    claim: "No reply, page or text takes more than linear time.",
    proofs: [
      proof("reply/hostile.test", "50,000 spaces after a fence"),
      proof("reply/hostile.test", "many such fences"),
      proof("util/text.test", "keeps the invariants for any text and any options"),
      proof("services/pages.test", "of %s is read within its time limit"),
    ],
  },
  {
    id: "CVE-2026-33232",
    claim: "Folders and store cannot grow without limit, and a full disk loses nothing.",
    proofs: [
      proof(REAL, "CVE-2026-33232: an agent that writes without end stops at its quota, and goes on after it deletes"),
      proof("loop/purchases.test", "counts over the agent's life, and refuses before anything more is saved"),
      proof(
        "workspace/workspace.test",
        "refuses a write before it is made, names the setting, and admits it once something is deleted",
      ),
      proof("workspace/workspace.test", "a full disk"),
      proof("store/store.long", "fails every write of a group on a full disk, keeps earlier ones"),
    ],
  },
];
