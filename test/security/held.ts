/** Areas that held in the attack on goald of 2026-11-22, and stay held. */
import { type Defence, proof } from "./defence.ts";

export const HELD: readonly Defence[] = [
  {
    id: "addresses",
    claim: "Every form of a private, local or metadata address is refused, in pages and in git.",
    proofs: [
      proof("http/public-door.test", "are not reached by %s"),
      proof("http/public-door.test", "are reached by all of these forms without the guard"),
      proof("services/clone.test", "is never a metadata service, even if allowed"),
      proof("services/clone.test", "is refused if only one of several addresses is private"),
    ],
  },
  {
    id: "hostile servers",
    claim: "Bombs, floods, silence, endless bodies and redirects end within limits.",
    proofs: [
      proof("http/http.test", "counts decompressed bytes: a gzip bomb of 64 MB is not decompressed"),
      proof("http/http.test", "ends a silent body"),
      proof("http/public-door.test", "end an endless body"),
      proof("http/public-door.test", "is not followed a sixth time"),
      proof(
        "services/web.test",
        "costs little if hostile: 20,000 programs with 20,000 rules, endless text, long wildcards",
      ),
    ],
  },
  {
    id: "hostile model servers",
    claim: "An endless, deep or lying stream of a model server is not read to its end.",
    proofs: [proof("model/streaming.test", "of %s is not read to its end")],
  },
  {
    id: "paths",
    claim: "No spelling of a path leaves the agent's folder or enters goald's own.",
    proofs: [
      proof("workspace/workspace.test", "rejects %j", "contracts/workspace"),
      proof("workspace/confinement.test", "fails for a resolver that compares prefixes (control)"),
      proof("workspace/confinement.test", "refuses %s in every operation, and changes nothing outside"),
    ],
  },
  {
    id: "link races",
    claim: "A folder that is swapped for a link between check and use leads nowhere (Linux).",
    proofs: [
      proof("workspace/confinement.test", "never leads outside, whatever the timing of the swaps"),
      proof("workspace/confinement.test", "deceives a resolver that checks the real path only once (control)"),
    ],
  },
  {
    id: "local API",
    claim:
      "Foreign Hosts, Origins, types, smuggled heads and deep bodies are refused before they have an effect; the socket is private.",
    proofs: [
      proof("api/server.test", "%s is rejected with %i before it has any effect"),
      proof("api/server.test", "%s is rejected with %i and has no effect"),
      proof("api/socket.test", "is private to its owner whatever the umask is, and is removed when the server closes"),
      proof("api/socket.test", "never replaces a file, a folder, or a link to a socket"),
      proof("api/socket.test", "reject one connection too many with an error, and accept it after another has closed"),
    ],
  },
  {
    id: "homes",
    claim:
      "A home that is found by walking upward is not read before a person trusts it; private folders stay private.",
    proofs: [
      proof("cli/home.long", "is rejected without a terminal (exit 1), and nothing in it is read"),
      proof("config/home.test", "is not read before it is trusted"),
      proof("config/home.test", "refuses a .goald that belongs to another user"),
      proof("config/home.test", "lets no other user write to the folders, whatever the umask"),
    ],
  },
  {
    id: "YAML and settings",
    claim: "An agent file and a .env are data: no tags, no expanding aliases, no change of the environment.",
    proofs: [
      proof("config/agent-file.test", "refuses aliases that expand to gigabytes, before expanding them"),
      proof("config/agent-file.test", "refuses a file that %s, and names the line"),
      proof("config/settings.test", "never changes the environment of this process"),
    ],
  },
  {
    id: "terminal output",
    claim: "Control sequences and invisible letters are removed from all that a terminal shows.",
    proofs: [
      proof("util/text.test", "removes %s"),
      proof("util/text.test", "leaves no control character, and cleaning twice changes nothing more"),
      proof("cli/advisories.long", "is in the output of any verb, as text or as JSON"),
      proof("cli/terminal/show-run.test", "hides nothing of a command that waits for a yes: %s"),
    ],
  },
  {
    id: "secrets",
    claim: "Keys are removed in every form, by value and by pattern.",
    proofs: [
      proof("util/log.test", "finds a secret %s"),
      proof("util/log.test", "keeps any JSON valid, hides every secret, and needs one pass"),
      proof("util/log.test", "shows no secret in %s"),
      proof("services/clone.test", "is not in the arguments of any process"),
    ],
  },
  {
    id: "fuzz",
    claim: "Hostile text costs linear time: replies, redaction, cleaning, pages, passages.",
    proofs: [
      proof("reply/hostile.test", "of %s is refused in words"),
      proof("util/log.test", "reads megabytes of hostile text in linear time"),
      proof("util/text.test", "takes linear time, even for openers without an end"),
      proof("services/pages.test", "of %s is read within its time limit"),
    ],
  },
];
