/**
 * extract.ts -- measures the cost of reading a page, and how much shorter the result is.
 *
 * Compares the CPU of Readability on linkedom, goald's complete reader (pruned tree, Markdown with links) and plain text
 * of the whole page as in AutoGPT; and the number of characters that a model would have to read. The pages are those of the
 * tests and three larger ones made here. Figures are medians of rounds in which all ways take turns.
 */
import { globSync, readFileSync } from "node:fs";
import { isProbablyReaderable, Readability } from "@mozilla/readability";
import { parseDocument } from "#services/page/dom.ts";
import { readPlainHtml } from "#services/page/plain-html.ts";
import { readHtml } from "#services/page/read-html.ts";
import { median } from "./shared/median.ts";
import { cpuOf } from "./shared/meter.ts";

const ROUNDS = 9;
const URL = "https://site.example/a/b";
const FOLDER = `${import.meta.dirname}/../test/data/pages`;

const read = (name: string): string => readFileSync(`${FOLDER}/${name}`, "utf8");
const isUtf8 = (name: string): boolean => !/gbk|shift|windows|utf-16|latin|late/.test(name);
const news = read("news.html");
const paragraphs = news.slice(news.indexOf("<p>The harbour"), news.indexOf("<figure>"));
const small = globSync("*.html", { cwd: FOLDER })
  .filter(isUtf8)
  .sort()
  .map((name): readonly [string, string] => [name, read(name)]);
const PAGES: readonly (readonly [string, string])[] = [
  ...small,
  ["news, 100 times its text", news.replace("<figure>", `${paragraphs.repeat(100)}<figure>`)],
  ["table of 2,000 rows", `<main><h1>T</h1><table>${"<tr><td>one</td><td>two</td></tr>".repeat(2_000)}</table></main>`],
  ["list of 2,000 links", `<main><ul>${"<li><a href='/x'>one</a>: what it is</li>".repeat(2_000)}</ul></main>`],
];

const extract = (document: never): number =>
  isProbablyReaderable(document) ? (new Readability(document).parse()?.textContent?.length ?? 0) : 0;
const WAYS: Readonly<Record<string, (html: string) => number>> = {
  linkedom: (html) => extract(parseDocument(html) as never),
  goald: (html) => readHtml(html, URL).text.length,
  "all text": (html) => readPlainHtml(html, URL).text.length,
};

const names = Object.keys(WAYS);
const sums = new Map(names.map((name) => [name, 0]));
console.log(`| page | ${names.map((name) => `${name} ms`).join(" | ")} | characters from goald | share of all text |`);
console.log(`|${" --- |".repeat(names.length + 3)}`);
for (const [page, html] of PAGES) {
  const times = new Map<string, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, way] of Object.entries(WAYS)) times.get(name)?.push(await cpuOf(() => way(html)));
  const medians = names.map((name) => median(times.get(name) ?? []));
  for (const [index, name] of names.entries()) sums.set(name, (sums.get(name) ?? 0) + (medians[index] ?? 0));
  const [ours, all] = [WAYS.goald?.(html) ?? 0, WAYS["all text"]?.(html) ?? 0];
  const shown = medians.map((ms) => ms.toFixed(1)).join(" | ");
  console.log(`| ${page} | ${shown} | ${ours} | ${(ours / Math.max(1, all)).toFixed(2)} |`);
}
const total = (name: string): number => sums.get(name) ?? 0;
console.log(`\nAll pages: goald takes ${(total("goald") / total("linkedom")).toFixed(1)} times the CPU of linkedom.`);
