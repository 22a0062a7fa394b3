/** golden-values.ts -- takes out of a transcript what differs from run to run: times, ids of processes, hashes, places, sizes of the machine. */
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import type { Goald } from "./goald.ts";

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const { version: VERSION } = JSON.parse(readFileSync(`${CHECKOUT}/package.json`, "utf8")) as { version: string };

/** Each pattern and what takes its place. JSON stays JSON. */
const VALUES: readonly (readonly [RegExp, string])[] = [
  // Times. A table is as wide as its longest one.
  [/\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z/g, "<time>"],
  [/\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?/g, "<minute>"],
  [/\((?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, /g, "(<weekday>, "],
  [/(?:\d+ (?:s|min|h)|\d+ (?:second|minute)s?) ago|just now/g, "<ago>"],
  [/(<ago>|CHANGED) {2,}/g, "$1  "],
  // Durations.
  [/^(Reply \([\w-]+\)|Result: [\w-]+, from [\w-]+), \d+ ms/gm, "$1, <number> ms"],
  [/[\d.]+ s waiting for the model, [\d.]+ s in commands/g, "<number> s waiting for the model, <number> s in commands"],
  [/"(durationMs|modelMs|commandMs|modelWaitMs)":\d+(?:\.\d+)?/g, '"$1":"<number>"'],
  [/\b(modelMs|commandMs|pid)=\d+/g, "$1=<number>"],
  // Numbers of the machine.
  [/\b(pid|process) \d+/g, "$1 <number>"],
  [/^( {2}memory +)\d+ MB/gm, "$1<number> MB"],
  [/delay p50 [\d.]+ ms, p99 [\d.]+ ms, max [\d.]+ ms/g, "delay p50 <number> ms, p99 <number> ms, max <number> ms"],
  [/"(p50|p99|max)":[\d.]+/g, '"$1":"<number>"'],
  [/(<time>) \(\d+ (?:second|minute)s?(?: \d+ seconds?)?\)/g, "$1 (<span>)"],
  [/[\d.]+ [GTM]B free/g, "<number> free"],
  [/^Waiting for the steps under way, at most \d+ s …\n/gm, ""],
  // Without a strict cage a line of advice follows.
  [/^((?: {2}|✓ )(cage|sandbox) +).*(?:\n {15}.*)*/gm, "$1<$2>"],
  [/\{"check":"(cage|sandbox)",[^}]*\}/g, '{"check":"$1"}'],
  [/"(cage|sandbox)":\{[^}]*\}/g, '"$1":"<$1>"'],
  // Code asks first where the cage is not strict.
  [/^( *(?:run_code|execute_python_file) +ready .*)asks first/gm, "$1restorable"],
  [/("name":"(?:run_code|execute_python_file)",.{0,1500}?"risk":)"asks first"/g, '$1"restorable"'],
  [/"(pid|rssBytes)":\d+/g, '"$1":"<number>"'],
  [/127\.0\.0\.1:(?!11434)\d{5}/g, "127.0.0.1:<port>"],
  // A prompt has the time in it, with the name of the day.
  [/(attempt \d+), \d+ tokens, \$[\d.]+ reserved/g, "$1, <number> tokens, <number> reserved"],
  [/(the next request (?:takes|costs) at least) [\d.]+/g, "$1 <number>"],
  [/(without a known end: up to) \d+ tokens, \$[\d.]+/g, "$1 <number> tokens, <number>"],
  [/"(reservedTokens|reservedUsd)":[\d.]+/g, '"$1":"<number>"'],
  [/"score":(\d+\.\d{3})\d*/g, '"score":$1'],
  // Leases: how often a host took the agent in hand.
  [/"epoch":\d+/g, '"epoch":"<number>"'],
  // Hashes and marks.
  [/"(\w*[hH]ash|sha256|sha|\w+Sha)":"[0-9a-f]{8,64}/g, '"$1":"<hash>'],
  [/\b[0-9a-f]{64}\b/g, "<hash>"],
  [/(goald-home-)[0-9a-f]{8}/g, "$1<hash>"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "<uuid>"],
  [/(goald-replay-)\w{6}\b/g, "$1<mark>"],
  [/(data|words)-[a-z0-9]{5,9}(?=>)/g, "$1-<mark>"],
  [/goald-demo-\w{6}/g, "goald-demo-<letters>"],
  // A line that was cut at its full width is cut before what a longer number pushes out.
  [/^(\d+ {2}<time>.*"<number>".{60}).*…$/gm, "$1…"],
];

export function normalise(text: string, { home, userHome, cwd }: Pick<Goald, "home" | "userHome" | "cwd">): string {
  const places: readonly (readonly [string, string])[] = [
    [home, "<home>"],
    [userHome, "<user>"],
    [cwd, "<cwd>"],
    [process.execPath, "<node>"],
    [CHECKOUT, "<checkout>"],
    [tmpdir(), "<tmp>"],
    [VERSION, "<version>"],
    [process.version.slice(1), "<node version>"],
  ];
  const placed = places.reduce((before, [place, name]) => before.replaceAll(place, name), text);
  return VALUES.reduce((before, [pattern, name]) => before.replaceAll(pattern, name), withoutCageWarning(placed));
}

/** As on a machine with a strict cage: doctor marks any other with "!", and counts a warning. */
function withoutCageWarning(text: string): string {
  if (!/^! cage |"check":"cage","level":"warning"/m.test(text)) return text;
  return text
    .replace(/^! cage /m, "✓ cage ")
    .replace(/^(\d+ errors?), (\d+) warnings?\.$/m, (_line, errors: string, count: string) =>
      sumUp(errors, Number(count) - 1),
    )
    .replace(/"warnings":(\d+)/, (_field, count: string) => `"warnings":${Number(count) - 1}`);
}

const sumUp = (errors: string, warnings: number): string =>
  errors === "0 errors" && warnings === 0
    ? "No problems found."
    : `${errors}, ${warnings} ${warnings === 1 ? "warning" : "warnings"}.`;

/** For calls that tell how an agent stands while it goes on: it may be further already. */
export const withoutStanding = (text: string): string =>
  text
    .replaceAll(
      /\b([\w-]+) is (?:running|waiting|paused|completed)[^(\n]* \(step \d+\)\./g,
      "$1 is <standing> (step <number>).",
    )
    .replaceAll(/"(state|lastCommand|reason)":(?:"(?:[^"\\]|\\.)*"|null)/g, '"$1":"<standing>"')
    .replaceAll(/"(step|tokens|costUsd)":[\d.]+/g, '"$1":"<number>"');
