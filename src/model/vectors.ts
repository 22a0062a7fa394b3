/** vectors.ts -- reads the vectors of an embeddings answer: all of them, valid and of unit length, or throws. */
import { isRecord, type JsonRecord, parseJson } from "#util/json.ts";

/** Its message ends a sentence that begins with "the server answered, but". */
export class VectorProblem extends Error {
  override readonly name = "VectorProblem";
}

/** Returns vectors in the order of the input. `dimensions` 0 accepts those of the first vector. Throws VectorProblem. */
export function readVectors(answer: unknown, count: number, dimensions: number): readonly Float32Array[] {
  const body = typeof answer === "string" ? parseJson(answer) : answer;
  const data = isRecord(body) ? body.data : undefined;
  if (!Array.isArray(data)) throw new VectorProblem("the answer is not a list of vectors");
  if (data.length !== count) throw new VectorProblem(`${count} vectors were expected and ${data.length} came`);
  const vectors = sortByIndex(data).map((item) => normalizeVector(parseNumbers(item.embedding)));
  const expected = dimensions || (vectors[0]?.length ?? 0);
  const odd = vectors.find(({ length }) => length !== expected);
  if (odd) throw new VectorProblem(`vectors of ${expected} dimensions were expected and one of ${odd.length} came`);
  return vectors;
}

/** Sorts by `index`, which must occur once each. Without any `index`, the order of the input holds. */
function sortByIndex(data: readonly unknown[]): readonly JsonRecord[] {
  const items = data.map((item) => (isRecord(item) ? item : {}));
  if (items.every(({ index }) => index === undefined)) return items;
  return items.map((_, position) => {
    const found = items.filter(({ index }) => index === position);
    if (found.length !== 1 || !found[0]) throw new VectorProblem(`vector ${position} came ${found.length} times`);
    return found[0];
  });
}

/** Accepts an array of numbers, or 32-bit little-endian floats in base64. */
function parseNumbers(embedding: unknown): Float32Array {
  if (Array.isArray(embedding) && embedding.every((value) => typeof value === "number"))
    return Float32Array.from(embedding);
  if (typeof embedding !== "string") throw new VectorProblem("one vector is neither numbers nor base64");
  const bytes = Buffer.from(embedding, "base64");
  if (bytes.length % 4 !== 0) throw new VectorProblem("one vector's base64 is cut off");
  return Float32Array.from({ length: bytes.length / 4 }, (_, position) => bytes.readFloatLE(position * 4));
}

function normalizeVector(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  if (vector.length === 0 || !Number.isFinite(length) || length === 0)
    throw new VectorProblem("one vector is empty, zero or contains something that is not a number");
  return vector.map((value) => value / length);
}
