/**
 * page-readers.ts -- measures what it costs to read pages in a caged process, against reading them in this process.
 *
 *   node bench/page-readers.ts [rounds=100]
 *
 * Both sides run with warm code. Times are lower quartiles, because other work on the machine only adds to them. CPU is
 * that of this process and of the reader together; the ratio is that of CPU. The first page in a cage is measured in a
 * new reader, with and without the probe.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findCage } from "#cage/find-cage.ts";
import type { PageKind } from "#services/page/content-type.ts";
import { readBytes } from "#services/page/read-bytes.ts";
import { createPageReader, type PageReader } from "#services/page/read-page.ts";
import { cpuMs, cpuMsOf, processesBelow, rssBytesOf } from "./shared/meter.ts";
import { rowOf } from "./shared/print.ts";
import { readCount } from "./shared/read-count.ts";

const ROUNDS = readCount(0, "the rounds", 100);
const line = rowOf(28, 11);
const URL = "https://site.example/";
const DATA = join(import.meta.dirname, "../test/data/pages");
const TYPES = { html: "text/html", pdf: "application/pdf" } as const;
const paragraph = `<p>${"Some words, with commas, here. ".repeat(20)}</p>`;
const PAGES: readonly (readonly [title: string, kind: keyof typeof TYPES, bytes: Buffer])[] = [
  ["an article", "html", readFileSync(join(DATA, "article.html"))],
  ["an article of 100 KB", "html", Buffer.from(`<article>${paragraph.repeat(160)}</article>`)],
  ["a PDF", "pdf", readFileSync(join(DATA, "paper.pdf"))],
];
const { signal } = new AbortController();

await measureFirstPages();
const reader = createPageReader();
console.log(line("warm", "here ms", "cage ms", "here CPU", "cage CPU", "ratio"));
for (const [title, kind, bytes] of PAGES) await measurePage(title, kind, bytes);
await reader.close();

async function measureFirstPages(): Promise<void> {
  const [, , article] = PAGES[0] ?? [];
  for (const title of ["first page, with the probe", "first page of a new reader"]) {
    const fresh = createPageReader();
    const start = performance.now();
    await fresh.read(article ?? Buffer.of(), TYPES.html, URL, signal);
    const ms = (performance.now() - start).toFixed(0);
    const memory = `host ${megabytes(process.memoryUsage.rss())}, reader ${megabytes(readMemory(fresh))}`;
    console.log(line(title, `${ms} ms`, `  ${memory}`));
    await fresh.close();
  }
  const { level } = await findCage();
  console.log(`The cage is ${level}.\n`);
}

async function measurePage(title: string, kind: PageKind & keyof typeof TYPES, bytes: Buffer) {
  const job = { bytes, kind, charset: undefined, url: URL, isPlain: false, timeLimitMs: 10_000 };
  const readHere = () => readBytes({ ...job, bytes: new Uint8Array(bytes) });
  const readCaged = () => reader.read(bytes, TYPES[kind], URL, signal);
  for (let round = 0; round < ROUNDS; round++) {
    await readHere();
    await readCaged();
  }
  const here = await measure(readHere);
  const caged = await measure(readCaged);
  const figures = [here.ms, caged.ms, here.cpuMs, caged.cpuMs, caged.cpuMs / here.cpuMs];
  console.log(line(title, ...figures.map((value) => value.toFixed(2))));
}

async function measure(act: () => Promise<unknown>) {
  const times: number[] = [];
  const before = readCpuMs();
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    await act();
    times.push(performance.now() - start);
  }
  const cpuMs = (readCpuMs() - before) / ROUNDS;
  return { ms: times.sort((a, b) => a - b)[Math.floor(ROUNDS / 4)] ?? 0, cpuMs };
}

function readCpuMs(): number {
  return cpuMs() + reader.pids.flatMap(processesBelow).reduce((sum, pid) => sum + cpuMsOf(pid), 0);
}

function readMemory({ pids }: PageReader): number {
  return pids.flatMap(processesBelow).reduce((sum, pid) => sum + rssBytesOf(pid), 0);
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}
