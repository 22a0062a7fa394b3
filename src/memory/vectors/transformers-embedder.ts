/**
 * transformers-embedder.ts -- vectors from a model that lies on this machine, made by @huggingface/transformers if it is installed.
 *
 * No dependency of goald: the package has half a gigabyte with its runtime, so a person who wants it installs it in the home or
 * globally. Nothing is ever fetched: the model is read from the folder that the settings name. It is loaded with
 * the first text, and what it is called holds a digest of its files, so that another model in the same folder is another embedder.
 */
import { hash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { GoaldError, toError } from "#core/errors.ts";
import type { Embedder } from "#core/ports/vectors.ts";

const PACKAGE = "@huggingface/transformers";
/** So many texts at a time: the memory that a run takes grows with them, and others get a turn in between. */
const BATCH_TEXTS = 8;
/** Models read 256 or 512 tokens and cut the rest themselves; this spares the tokenizer. */
const MAX_CHARS = 8_000;

/** What we use of the package. */
interface Transformers {
  readonly env: { allowRemoteModels: boolean; allowLocalModels: boolean; localModelPath: string };
  pipeline(task: "feature-extraction", model: string, options: { local_files_only: true }): Promise<Extractor>;
}
type Extractor = (
  texts: readonly string[],
  options: { pooling: "mean"; normalize: true },
) => Promise<{ readonly dims: readonly number[]; readonly data: ArrayLike<number> }>;

export interface TransformersSettings {
  /** The model's folder, with its config.json, tokenizer and onnx files. */
  readonly path: string;
  /** Folders in whose node_modules the package is looked for, in this order. */
  readonly folders: readonly string[];
}

/** `dimensions` is 0 until the first vector. `embed` rejects with GOALD_CONFIG when the package or the model cannot be had. */
export function createTransformersEmbedder({ path, folders }: TransformersSettings): Embedder {
  const folder = resolve(path);
  const name = basename(folder);
  let dimensions = 0;
  let digest = "";
  let loading: Promise<Extractor> | undefined;

  async function load(): Promise<Extractor> {
    digest = await digestOf(folder);
    const { env, pipeline } = await findPackage(folders);
    env.allowRemoteModels = false;
    env.allowLocalModels = true;
    env.localModelPath = dirname(folder);
    return pipeline("feature-extraction", name, { local_files_only: true }).catch((error: unknown) => {
      throw unusable(folder, toError(error).message);
    });
  }

  async function embedBatch(extract: Extractor, texts: readonly string[]): Promise<readonly Float32Array[]> {
    const cut = texts.map((text) => text.slice(0, MAX_CHARS).toWellFormed() || " ");
    const { dims, data } = await extract(cut, { pooling: "mean", normalize: true });
    const [rows, length = 0] = dims;
    if (dims.length !== 2 || rows !== texts.length || length < 1 || data.length !== rows * length)
      throw unusable(folder, `it made ${dims.join(" x ")} numbers of ${texts.length} texts`);
    dimensions = length;
    return texts.map((_, row) => Float32Array.from({ length }, (_, at) => data[row * length + at] as number));
  }

  return {
    get id() {
      return `transformers:${name}${digest}@${dimensions}`;
    },
    get dimensions() {
      return dimensions;
    },
    local: true,
    semantic: true,
    async embed(texts, signal) {
      loading ??= load();
      const extract = await loading.catch((error: unknown) => {
        loading = undefined;
        throw error;
      });
      const vectors: Float32Array[] = [];
      for (let start = 0; start < texts.length; start += BATCH_TEXTS) {
        signal.throwIfAborted();
        vectors.push(...(await embedBatch(extract, texts.slice(start, start + BATCH_TEXTS))));
      }
      return vectors;
    },
  };
}

/** Names and sizes: two models that differ in neither are not told apart. */
async function digestOf(folder: string): Promise<string> {
  try {
    const names = (await readdir(folder, { recursive: true })).sort();
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
    if (names.includes("config.json"))
      return `#${hash("sha256", JSON.stringify(names.map((name, at) => [name, sizes[at]]))).slice(0, 8)}`;
  } catch {
    // Said below, as for a folder without a model.
  }
  throw unusable(folder, "there is no config.json in it");
}

async function findPackage(folders: readonly string[]): Promise<Transformers> {
  for (const folder of folders) {
    const found = resolveFrom(folder);
    if (found === undefined) continue;
    try {
      const loaded = (await import(pathToFileURL(found).href)) as Partial<Transformers> & { default?: Transformers };
      const usable = typeof loaded.pipeline === "function" ? loaded : loaded.default;
      if (typeof usable?.pipeline === "function" && typeof usable.env === "object") return usable as Transformers;
      throw new Error("it has no pipeline");
    } catch (error) {
      throw missing(`${PACKAGE} in ${folder} cannot be used: ${toError(error).message}`);
    }
  }
  throw missing(`The embedder "transformers" needs the package ${PACKAGE}, which is not installed`);
}

function resolveFrom(folder: string): string | undefined {
  try {
    return createRequire(join(folder, "package.json")).resolve(PACKAGE);
  } catch {
    return undefined;
  }
}

const missing = (message: string): GoaldError =>
  new GoaldError(
    "GOALD_CONFIG",
    `${message}. Install it in the home (npm install ${PACKAGE}) or globally (npm install -g ${PACKAGE}), or set GOALD_EMBEDDER=auto.`,
  );

const unusable = (folder: string, reason: string): GoaldError =>
  new GoaldError(
    "GOALD_CONFIG",
    `The embedding model in ${folder} cannot be used: ${reason}. GOALD_EMBEDDER_PATH is the folder of a model with config.json, tokenizer.json and onnx/model.onnx.`,
  );
