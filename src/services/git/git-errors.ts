/** git-errors.ts -- explains why a clone failed, and what to do about it. */
import { GoaldError } from "#core/errors.ts";
import type { Quote } from "#util/outside-errors.ts";
import type { GitEnd } from "./git-process.ts";
import type { RepositoryUrl } from "./repository-url.ts";

interface GitErrorRule {
  readonly when: RegExp;
  readonly problem: string;
  readonly hint: string;
}

const GIT_ERROR_RULES: readonly GitErrorRule[] = [
  {
    when: /error: 30\d|redirect/i,
    problem: "It answers from another address, and redirects are not followed",
    hint: "Find the repository's present address and clone that.",
  },
  {
    when: /Authentication failed|could not read Username|error: 40[13]|terminal prompts disabled/i,
    problem: "It is private, or not there: the server wants a name and a key",
    hint: "A person can set GITHUB_API_KEY; else choose another repository.",
  },
  {
    when: /not found|error: 404|does not appear to be a git/i,
    problem: "There is no such repository",
    hint: "Check the address.",
  },
  {
    when: /certificate|SSL|TLS/i,
    problem: "The server could not show that it is the one of that name",
    hint: "Check the address; of a private server, its certificate must be known to this machine.",
  },
  {
    when: /early EOF|RPC failed|hung up|transfer closed/i,
    problem: "The connection broke",
    hint: "Try again.",
  },
  {
    when: /fsck|gitmodules|unpack-objects|index-pack|corrupt|malformed|invalid path|hasDotgit/i,
    problem: "What came is damaged, or made to do harm",
    hint: "Use another repository.",
  },
  {
    when: /Could not resolve|Failed to connect|Connection refused|timed out|SOCKS5|unable to access/i,
    problem: "The server could not be reached, or does not speak git",
    hint: "Check the address, or try later.",
  },
  { when: /No space left|Disk quota/i, problem: "There is no room left on the disk", hint: "Free some space." },
];
const FALLBACK_RULE: GitErrorRule = { when: /(?:)/, problem: "git gave up", hint: "Check the address, or try later." };

/** The beginnings of lines that git passes on from the server. */
const OF_SERVER = /^remote:|\bremote error:/;

/** git's own lines choose the explanation. Its lines may repeat the server's words, so all of them are a stranger's. */
export function explainGit({ errorOutput, code }: GitEnd, { href }: RepositoryUrl, quote: Quote): GoaldError {
  const lines = errorOutput.split(/[\r\n]+/);
  const own = lines.filter((line) => !OF_SERVER.test(line)).join("\n");
  const rule = GIT_ERROR_RULES.find(({ when }) => when.test(own)) ?? FALLBACK_RULE;
  const said = lines.filter((line) => /^(?:fatal|error|remote):/.test(line)).slice(-3);
  const end = said.length > 0 || code === null ? "" : ` with exit code ${code}`;
  return new GoaldError("GOALD_GIT", `${href} could not be cloned. ${rule.problem}${end}.`, {
    hint: rule.hint,
    words: said.length === 0 ? "" : quote(said.join(" "), 300),
    ...(isUnreached(errorOutput) ? { outside: [] } : {}),
  });
}

/** True when the limit of file sizes killed git's unpacker, which then prints nothing about the reason. */
export function isTooLargeFile({ errorOutput }: GitEnd): boolean {
  const own = errorOutput.split(/[\r\n]+/).filter((line) => /^(?:fatal|error):/.test(line) && !OF_SERVER.test(line));
  const isSilent = own.length > 0 && own.every((line) => line === "fatal: fetch-pack: invalid index-pack output");
  return isSilent || own.some((line) => /^error: (?:index-pack|unpack-objects) died of signal 25$/.test(line));
}

/** True when git itself says that it never reached the server. Lines with a server's words contain "remote". */
const isUnreached = (errorOutput: string): boolean =>
  !/remote/i.test(errorOutput) &&
  /^fatal: unable to access '[^'\r\n]*': (?:Failed to connect|Could not resolve|Connection (?:refused|timed out)|Can't complete SOCKS5)/m.test(
    errorOutput,
  );

export const repositoryTooLarge = (maxBytes: number): GoaldError =>
  exceedsLimit(`is larger than ${Math.round(maxBytes / 1024 / 1024)} MB`);
export const repositoryHasTooManyFiles = (maxFiles: number): GoaldError =>
  exceedsLimit(`has more than ${maxFiles} files`);
export const cloneTookTooLong = (timeoutMs: number): GoaldError =>
  exceedsLimit(`took longer than ${timeoutMs < 1000 ? `${timeoutMs} ms` : `${Math.round(timeoutMs / 1000)} s`}`);

const exceedsLimit = (problem: string): GoaldError =>
  new GoaldError("GOALD_GIT", `The repository ${problem}. Nothing of it was kept.`, {
    hint: "Use a smaller one, or read its files one by one on the web.",
    outside: [],
  });
