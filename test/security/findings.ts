/** Failures that the attack on goald of 2026-11-22 found, each mended. */
import { type Defence, proof } from "./defence.ts";

export const FINDINGS: readonly Defence[] = [
  {
    id: "F3",
    claim: "`why` and `report` name the pages, downloads and clones that an agent read before it wrote a file.",
    proofs: [
      proof("views/sources.test", "contain the page that it read, with its host, and where it is kept"),
      proof("views/sources.test", "is in why, for every version that was written after it"),
      proof("views/sources.test", "is in the report, and in its opening"),
    ],
  },
  {
    id: "F5",
    claim:
      "No write, download or move makes a folder that git takes for a repository; files that other programs run are asked about.",
    proofs: [
      proof("workspace/repository-folders.test", "never makes a folder that git answers to as its repository"),
      proof("workspace/repository-folders.test", "is refused in other forms and spellings: %j"),
      proof("loop/others-run.test", "is asked about before %s %j, with who runs it and when"),
      proof("loop/others-run.test", "is asked about although a person approved the next twenty commands"),
      proof("loop/others-run.test", "is refused where nobody is asked, and the agent goes on: %s %j"),
    ],
  },
  {
    id: "F7",
    claim: "A recording keeps no key, also when a reply brings it in pieces, and still replays.",
    proofs: [
      proof(
        "cassette/redact-stream.test",
        "holds no form of it, neither in its lines nor in the joined texts of its streams",
      ),
      proof("cassette/redact-stream.test", "replays without the keys to the same events and state"),
    ],
  },
  {
    id: "F10: kept pages",
    claim: "A kept page holds no key of the settings, and no image that a preview fetches.",
    proofs: [
      proof(
        "commands/browse_website.test",
        "keeps a page that echoes a key without it, and shows it neither to the model nor in the answer",
      ),
      proof("util/inert-markdown.test", "is written so that a preview fetches nothing: %j"),
    ],
  },
  {
    id: "F10: debugger",
    claim: "SIGUSR1 opens no debugger.",
    proofs: [
      proof("cli/debugger.test", "opens no debugger in a run in front of a person"),
      proof("cli/debugger.test", "opens no debugger in the daemon"),
    ],
  },
];
