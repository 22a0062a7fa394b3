/**
 * research-run.ts -- an ordinary research run: ten searches, forty pages on five sites, and notes that it writes and reads again.
 *
 * Pages, search answers and calls are made of the same words, as they are in life: the goal, titles, links, notes.
 */
import type { CommandCall } from "#core/call.ts";

const PRODUCTS = ["Qdrant", "Milvus", "Weaviate", "Chroma", "pgvector", "Vespa", "LanceDB", "Vald"] as const;
const TOPICS = [
  ["filtering", "filtering explained: payload indexes, cardinality and what they cost"],
  ["memory", "memory use per million vectors, with and without quantization"],
  ["licence", "licence, governance and who pays for the development"],
  ["backup", "snapshots, backups and restoring a cluster after a failure"],
  ["hybrid", "hybrid search with BM25 and reciprocal rank fusion"],
] as const;

export const RESEARCH_GOALS = [
  "Compare the three best open-source vector databases",
  "Write report.md with a table and name your sources",
];
export const RESEARCH_BRIEF =
  "It has to run on one small server with 8 GB of memory and no GPU.\nWe are Hofmann & Adler, customer number 88-2041-77; do not name us anywhere.\n";

export interface ResearchPage {
  readonly path: string;
  readonly title: string;
  readonly text: string;
  /** Places of other pages. */
  readonly links: readonly number[];
}

/** Forty pages; page `n` is on site `n % 5`. */
export const RESEARCH_PAGES: readonly ResearchPage[] = PRODUCTS.flatMap((product, of) =>
  TOPICS.map(([topic, about], index) => {
    const number = of * TOPICS.length + index;
    const other = PRODUCTS[(of + 3) % PRODUCTS.length];
    return {
      path: `/docs/${product.toLowerCase()}/${topic}-${number}`,
      title: `${product} ${about}`,
      text:
        `${product} is one of the open-source vector databases that people compare most in 2026. This page is about its ${topic}. ` +
        `In our measurements ${product} needed ${number * 37 + 411} MB for a million vectors of 768 dimensions, and ${other} needed ${number * 29 + 380} MB. ` +
        `Restoring a snapshot of ten million vectors took ${number + 3} minutes on a machine with 16 cores. The ${topic} of ${product} changed twice last year.`,
      links: [(number + 1) % 40, (number + 11) % 40, (number + 23) % 40],
    };
  }),
);

/** The query of each search, and the pages that it finds. */
export const SEARCHES: readonly string[] = [
  "Compare the three best open-source vector databases",
  "Qdrant filtering explained: payload indexes, cardinality and what they cost",
  "Milvus memory use per million vectors benchmark",
  "Weaviate restores quickly but needs more memory than the others",
  "pgvector licence PostgreSQL commercial use allowed",
  "vector database small server 8 GB memory without GPU",
  "hybrid search with BM25 and reciprocal rank fusion in Chroma and Vespa",
  "open-source vector databases backup snapshot restore comparison",
  "Restoring a snapshot of ten million vectors took how many minutes",
  "three best open-source vector databases licence table 2026",
];
export const foundBy = (query: string): readonly number[] => {
  const place = Math.max(0, SEARCHES.indexOf(query));
  return [0, 1, 2, 3].map((index) => (place * 4 + index) % 40);
};

/** The calls of the run. `urlOf` gives the address of a page. */
export function researchCalls(urlOf: (page: number) => string): readonly CommandCall[] {
  const browse = (page: number, tail = ""): CommandCall => ({
    name: "browse_website",
    args: { url: urlOf(page) + tail, question: `What does it say about ${RESEARCH_PAGES[page]?.title}?` },
  });
  const plan =
    "1. Find candidates.\n2. Read about filtering, memory, licence and backups of each.\n3. Write the table.\n";
  const calls: CommandCall[] = [
    { name: "write_to_file", args: { file: "plan.md", text: plan } },
    { name: "read_file", args: { file: "brief.md" } },
  ];
  for (const [index, query] of SEARCHES.entries()) {
    calls.push({ name: "google", args: { input: query } });
    for (const page of foundBy(query)) calls.push(browse(page, index % 3 === 2 ? "#top" : ""));
    const product = PRODUCTS[index % PRODUCTS.length];
    const note = `${product} restores quickly but needs more memory than the others. Source: ${urlOf(index * 4)}\n`;
    calls.push({ name: "append_to_file", args: { file: "notes.md", text: note } });
    if (index % 3 === 1) calls.push({ name: "read_file", args: { file: "notes.md" } });
    if (index === 4) calls.push({ name: "read_file", args: { file: "plan.md" } });
  }
  calls.push({
    name: "write_to_file",
    args: { file: "report.md", text: "| name | memory |\n|---|---|\n| Qdrant | 411 MB |\n" },
  });
  return calls;
}
